// Behaviour of the pages. Every page works without it, Live aside: that one then shows what there was when it was loaded.
"use strict";
(() => {
  const $ = (selector, from = document) => from.querySelector(selector);
  const $$ = (selector, from = document) => [...from.querySelectorAll(selector)];
  const body = document.body, conn = $("#conn"), feed = $("#feed"), form = $("#try");
  const skew = Date.now() - Number(body.dataset.now); // of this clock against the server's
  let heard = Date.now(); // when the server last said something
  let well = conn && conn.classList.contains("off") ? Number(conn.dataset.since) + skew : heard; // when all was last well, NaN if not known

  // Words that were searched leave the tab with the login.
  const stored = window.sessionStorage, wordsKey = "wardcast.words";
  if ((stored.getItem("wardcast.who") || "") !== body.dataset.who) stored.removeItem(wordsKey);
  stored.setItem("wardcast.who", body.dataset.who);
  document.addEventListener("click", e => { if (e.target.closest("a[href='/logout']")) stored.removeItem(wordsKey); });

  const clock = at => new Date(at).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit", timeZone: body.dataset.zone || "UTC" });
  const from = at => at ? " since " + clock(at - skew) : "";
  const since = ms => {
    const minutes = Math.floor(ms / 60000);
    if (minutes < 1) return "now";
    if (minutes < 60) return minutes + " min ago";
    return Math.floor(minutes / 60) + " h " + minutes % 60 + " min ago";
  };
  const waited = ms => { const minutes = Math.max(0, Math.floor(ms / 60000)); return Math.floor(minutes / 60) + " h " + String(minutes % 60).padStart(2, "0"); };
  const ages = () => {
    $$("time[data-at]").forEach(t => { t.dataset.text ??= t.textContent; t.textContent = since(Date.now() - skew - Number(t.dataset.at)); });
    $$("[data-arrived]").forEach(t => { t.textContent = waited(Date.now() - skew - Number(t.dataset.arrived)); });
  };

  // Paper has the time itself: it does not say how long ago that was when it is read.
  addEventListener("beforeprint", () => $$("time[data-text]").forEach(t => { t.textContent = t.dataset.text; }));
  addEventListener("afterprint", ages);

  // Connection: never silent when it is lost.
  const stale = $("#stale");
  const patients = stale && stale.hasAttribute("data-patients"); // the page lists them, or counts them
  let away = false; // not connected
  const show = (lost, text) => {
    if (!conn) return; // the page says nothing of now
    conn.classList.toggle("off", lost);
    $("b", conn).textContent = lost ? "Not connected" : "Connected";
    $("span", conn).textContent = text ? "· " + text : "";
    body.classList.toggle("is-stale", lost);
    if (!stale) return;
    const frozen = lost && (away || patients);
    if (frozen) {
      const newest = feed && $("time[data-at]", feed);
      $("p", stale).textContent = "Not updating" + from(well) + "." +
        (newest ? " The last prediction came " + since(Date.now() - skew - Number(newest.dataset.at)).replace("now", "less than a minute ago") + "." : "") +
        " Trying again." + (patients ? " Work from the patient, not from this list." : "");
    }
    if (stale.hidden === frozen) stale.hidden = !frozen;
  };
  // What a page says of now is not known any more once the connection is lost.
  const doubt = () => $$("[data-now-known]").forEach(e => { e.hidden = away; e.nextElementSibling.hidden = !away; e.nextElementSibling.textContent = "Not known" + from(well); });
  const lost = () => { away = true; show(true, "last update" + from(well).replace("since ", "")); doubt(); };
  const state = s => {
    heard = Date.now();
    if (s.ready) well = heard; else if (s.since) well = s.since + skew;
    away = false;
    doubt();
    if (s.ready) show(false, s.text); else { show(true, s.text); $("b", conn).textContent = "Not scoring"; }
  };
  const poll = () => fetch("/live/state").then(r => r.ok ? r.json() : Promise.reject()).then(state).catch(lost);

  const load = async (url, options) => {
    const answer = await fetch(url, options);
    if (!(answer.headers.get("content-type") || "").startsWith("text/html")) throw new Error("no page");
    return new DOMParser().parseFromString(await answer.text(), "text/html");
  };
  // told takes the state from another page of ours.
  const told = page => {
    const conn = page.getElementById("conn");
    if (!conn) throw new Error("another page");
    state({ ready: !conn.classList.contains("off"), text: $("span", conn).textContent.replace(/^· /, "") });
  };
  const again = { headers: { "Wardcast-Again": "1" } }; // of what an open page asks by itself: the audit log has its opening
  // swap replaces the elements of these ids by those of another page of ours. It is false if the server does not answer.
  let asked = 0;
  const swap = async (ids, url, options) => {
    const turn = ++asked, targets = ids.map(id => document.getElementById(id));
    targets.forEach(t => t.setAttribute("aria-busy", "true"));
    try {
      const page = await load(url, options);
      if (turn !== asked) return;
      ids.forEach((id, i) => { const next = page.getElementById(id); if (next) targets[i].replaceWith(next); });
      ages();
      return true;
    } catch { if (turn === asked) { targets.forEach(t => t.removeAttribute("aria-busy")); lost(); return false; } }
  };

  // A list with the explanation of one of its rows beside it. The two never name different patients: the explanation
  // empties before another one is asked for, and the highlight moves once that is there.
  const patience = 10000; // ms that an answer may take
  const explaining = list => {
    let turn = 0, cancel = new AbortController();
    const links = () => $$("a[data-row]", list());
    const why = () => $("#why");
    const mark = row => links().forEach(a => {
      const on = a.dataset.row === row;
      a.closest("li,tr").classList.toggle("sel", on);
      if (on) a.setAttribute("aria-current", "true"); else a.removeAttribute("aria-current");
    });
    const say = (text, link) => {
      const heading = document.createElement("h2"), header = document.createElement("header"), message = document.createElement("p");
      heading.id = "w";
      heading.textContent = "Why";
      header.append(heading);
      message.className = "empty";
      message.setAttribute("role", "status");
      message.textContent = text;
      const parts = [header, message];
      if (link) {
        const again = document.createElement("p"), button = document.createElement("button");
        button.className = "btn";
        button.textContent = "Try again";
        button.onclick = () => show(links().find(a => a.dataset.row === link.dataset.row) || link);
        again.className = "pad";
        again.append(button);
        parts.push(again);
      }
      why().removeAttribute("data-row");
      why().replaceChildren(...parts);
      mark();
    };
    // check says so of a patient who is explained and whom the list does not show any more.
    const check = () => {
      const row = why().dataset.row, gone = $("#gone");
      mark(row);
      if (!row) return;
      const there = links().some(a => a.dataset.row === row && !a.closest("li,tr").hidden);
      if (there && gone) gone.remove();
      if (there || gone) return;
      const note = document.createElement("p");
      note.id = "gone";
      note.className = "msg";
      note.setAttribute("role", "status");
      note.textContent = "This patient is no longer in the list" + (feed ? ", or the list was begun anew." : ".");
      $("header", why()).after(note);
    };
    const show = async (link, { quiet = false, focus = false } = {}) => {
      const mine = ++turn, row = link.dataset.row;
      cancel.abort();
      cancel = new AbortController();
      if (!quiet) say("Loading …");
      try {
        const page = await load(link.href, { signal: AbortSignal.any([cancel.signal, AbortSignal.timeout(patience)]) });
        const next = page.getElementById("why");
        if (mine !== turn) return;
        if (!next || next.dataset.row && next.dataset.row !== row) throw new Error("of another row");
        why().replaceWith(next);
        ages();
        check();
        if (focus) { why().focus(); $("#news").textContent = "The explanation has the focus: " + link.textContent + "."; }
      } catch { if (mine === turn) say("The explanation could not be loaded: the server did not answer.", link); }
    };
    document.addEventListener("click", e => {
      const link = e.target.closest("a[data-row]");
      if (!link || !list().contains(link) || e.ctrlKey || e.metaKey || e.shiftKey || innerWidth < 1024) return;
      e.preventDefault();
      show(link, { focus: e.detail === 0 });
    });
    document.addEventListener("keydown", e => {
      const all = links().filter(a => a.offsetParent), at = all.indexOf(document.activeElement);
      const to = at >= 0 && (e.key === "ArrowDown" ? all[at + 1] : e.key === "ArrowUp" ? all[at - 1] : null);
      if (to) { to.focus(); e.preventDefault(); }
    });
    return { show, check };
  };

  if (feed) live(); else if ($("#rows")) waitingList(); else if (conn) setInterval(poll, 8000);
  if (form) tryNote();
  setInterval(() => { ages(); if (away) lost(); }, 10000);
  ages();

  function live() {
    const held = document.createElement("ol"), waiting = $("#fresh"), explained = explaining(() => feed), pause = $("#pause"), news = $("#news");
    const stopped = $("#paused"), me = Math.random() + "", shared = window.localStorage;
    let paused = false, slot, source, timer, refilling, filter = "all", complaint = "", opened = 0, said = Date.now(), unsaid = [0, 0];
    const rows = () => $$("li[data-kind]", feed), size = item => Number(item.dataset.more || 1);
    const count = () => {
      const all = rows(), of = kind => all.filter(r => r.dataset.kind.split(" ").includes(kind)).length;
      const oldest = all.length && $("time[data-at]", all[all.length - 1]);
      $("#n-all").textContent = [...feed.children].reduce((n, item) => n + size(item), 0);
      $("#n-since").textContent = oldest ? ", since " + clock(Number(oldest.dataset.at)) : "";
      $("#n-admit").textContent = of("admit");
      $("#n-none").textContent = of("none");
      $("[data-filter=all] span:last-child").textContent = all.length;
      $("[data-filter=admit] span:last-child").textContent = of("admit");
      $("[data-filter=close] span:last-child").textContent = of("close");
      $("#no-rows").hidden = all.length > 0;
      const names = [...new Set(all.map(r => r.dataset.complaint))].sort(), select = $("#complaint");
      if (names.join("\n") !== select.dataset.names) {
        select.dataset.names = names.join("\n");
        select.replaceChildren(new Option("Every complaint", ""), ...names.map(n => new Option(n, n)));
        select.value = names.includes(complaint) ? complaint : complaint = "";
      }
      let left = 0;
      all.forEach(r => { r.hidden = !((filter === "all" || r.dataset.kind.split(" ").includes(filter)) && (!complaint || r.dataset.complaint === complaint)); left += !r.hidden; });
      $("#no-match").hidden = left > 0 || all.length === 0;
      explained.check();
    };
    const busy = () => paused || feed.matches(":hover") || feed.contains(document.activeElement);
    const flush = () => {
      if (held.childElementCount) {
        const arrived = $$("li", held);
        arrived.forEach(r => r.classList.add("new"));
        feed.prepend(...arrived);
        let seen = 0; // the last fifty, those that were too many to list too
        for (const item of [...feed.children]) { if (seen >= 50) item.remove(); seen += size(item); }
      }
      waiting.hidden = true;
      ages(); count();
    };
    const take = html => {
      const list = new DOMParser().parseFromString("<ol>" + html + "</ol>", "text/html");
      const fresh = $$("li", list).filter(r => !r.dataset.kind || ![feed, held].some(l => $(`[data-row="${$("a", r).dataset.row}"]`, l)));
      if ($(".more", list)) { clearTimeout(refilling); refilling = setTimeout(refill, 3000 + 5000 * Math.random()); }
      held.prepend(...fresh);
      $$("li", held).slice(60).forEach(r => r.remove());
      unsaid[0] += fresh.filter(r => r.dataset.kind).length;
      unsaid[1] += fresh.filter(r => (r.dataset.kind || "").includes("admit")).length;
      if (busy()) {
        waiting.hidden = false;
        waiting.textContent = $$("li[data-kind]", held).length + " new";
      } else flush();
    };
    // Once it is calm again, the rows that were too many to list are there.
    const refill = async () => {
      if (busy()) { refilling = setTimeout(refill, 3000); return; }
      try {
        const page = await load("/live", { signal: AbortSignal.timeout(patience), ...again });
        if (busy()) return;
        held.replaceChildren();
        feed.replaceChildren(...page.getElementById("feed").children);
        flush();
      } catch { /* the stream says that the connection is lost */ }
    };
    // A browser has six connections to a host, for all its tabs: four of them may stream, the others ask again and again.
    const claim = () => {
      const name = n => "wardcast.stream." + n, mine = n => { const [who, at] = (shared.getItem(name(n)) || "").split(" "); return who === me || !(Date.now() - at < 5000); };
      slot = document.hidden ? undefined : [0, 1, 2, 3].map(name).find((_, n) => mine(n));
      if (slot) shared.setItem(slot, me + " " + Date.now());
      return slot;
    };
    const close = () => {
      if (source) source.close();
      source = null;
      if (slot) shared.removeItem(slot);
      slot = undefined;
    };
    const ask = async () => {
      try {
        const page = await load("/live", { signal: AbortSignal.timeout(patience), ...again }), next = page.getElementById("feed");
        told(page);
        if (next.dataset.last.split("-")[0] !== feed.dataset.last.split("-")[0]) { feed.replaceChildren(); held.replaceChildren(); }
        feed.dataset.last = next.dataset.last;
        take(next.innerHTML);
      } catch { lost(); }
    };
    const open = () => {
      clearTimeout(timer);
      close();
      if (document.hidden) return;
      opened = Date.now();
      if (!claim()) { ask(); timer = setTimeout(open, 3000); return; }
      source = new EventSource("/live/feed?after=" + encodeURIComponent(feed.dataset.last));
      source.addEventListener("rows", e => { heard = Date.now(); feed.dataset.last = e.lastEventId; take(e.data); });
      source.addEventListener("fresh", () => { feed.replaceChildren(); held.replaceChildren(); });
      source.addEventListener("state", e => state(JSON.parse(e.data)));
      source.onerror = () => {
        lost();
        if (source.readyState === EventSource.CLOSED) { clearTimeout(timer); timer = setTimeout(open, 1000 + 29000 * Math.random()); }
      };
    };
    $$(".js").forEach(e => { e.hidden = false; });
    pause.onclick = () => { paused = !paused; pause.setAttribute("aria-pressed", paused); pause.textContent = paused ? "Resume" : "Pause"; stopped.hidden = !paused; $("span", stopped).textContent = "Paused at " + clock(Date.now() - skew) + ". New predictions wait."; if (!busy()) flush(); };
    $("button", stopped).onclick = () => { pause.click(); pause.focus(); };
    waiting.onclick = () => { flush(); const first = $("a", feed); if (first) first.focus(); };
    feed.addEventListener("mouseleave", () => { if (!busy()) flush(); });
    feed.addEventListener("focusout", () => setTimeout(() => { if (!busy()) flush(); }));
    $("#again").onclick = open;
    $$("[data-filter]").forEach(b => { b.onclick = () => { filter = b.dataset.filter; $$("[data-filter]").forEach(o => o.setAttribute("aria-pressed", o === b)); count(); }; });
    $("#complaint").onchange = e => { complaint = e.target.value; count(); };
    feed.addEventListener("keydown", e => { if (e.key === "p" || e.key === "P") pause.click(); });
    document.addEventListener("visibilitychange", () => { if (document.hidden) close(); else open(); });
    addEventListener("pagehide", close);
    addEventListener("pageshow", e => { if (e.persisted) open(); });
    setInterval(() => {
      if (source) claim();
      if (!document.hidden && Date.now() - Math.max(heard, opened) > 12000) lost();
      if (unsaid[0] && Date.now() - said > 10000) { news.textContent = unsaid[0] + " new, " + unsaid[1] + " likely to be admitted"; said = Date.now(); unsaid = [0, 0]; }
    }, 1000);
    count();
    open();
  }

  // Waiting: filters and order are in the address, words are kept in the tab. The list is read again every eight seconds.
  // What stands under the pointer or has the focus moves at the reader's word only; counts are always new.
  function waitingList() {
    const rows = () => $("#rows"), find = $("#find"), q = $("#q"), fresh = $("#fresh"), explained = explaining(rows);
    let words = q.value || stored.getItem(wordsKey) || "", held = null, turn = 0, timer;
    const get = (url, more) => load(url, { signal: AbortSignal.timeout(patience), ...(words ? { method: "POST", body: new URLSearchParams({ q: words }) } : {}), ...more });
    const busy = () => { const b = $("tbody", rows()); return b && (b.matches(":hover") || b.contains(document.activeElement)); };
    const numbers = from => $$("a[data-row]", from).map(a => a.dataset.row);
    const said = row => { const a = row && $(`a[data-row="${row}"]`, rows()); return a && $(".chance", a.closest("tr")).textContent + $(".moved", a.closest("tr")).textContent; };
    const renew = (next, id) => { const now = document.getElementById(id), then = next.getElementById(id); if (now && then && !now.contains(document.activeElement)) now.replaceWith(then); };
    const list = next => {
      const row = $("#why").dataset.row, before = said(row);
      held = null;
      fresh.hidden = true;
      rows().replaceWith(next.getElementById("rows"));
      ages();
      if (!$("#unread", next)) explained.check(); // until the list is whole, nobody has left it
      const link = row && $(`a[data-row="${row}"]`, rows());
      if (link && said(row) !== before) explained.show(link, { quiet: true }); // a corrected note
    };
    const adopt = (next, whole) => {
      if (!next.getElementById("rows")) throw new Error("another page");
      told(next);
      ["say", "state", "kinds", "menu", "foot"].forEach(id => renew(next, id));
      find.action = $("#find", next).getAttribute("action");
      if (whole || !busy()) return list(next);
      held = next;
      const now = new Set(numbers(rows())), then = new Set(numbers(next)), come = [...then].filter(r => !now.has(r)).length, gone = [...now].filter(r => !then.has(r)).length;
      fresh.hidden = !come && !gone;
      fresh.textContent = [come && come + " new", gone && gone + " gone"].filter(Boolean).join(", ");
    };
    const go = async (url, push) => {
      const mine = ++turn;
      rows().setAttribute("aria-busy", "true");
      try {
        const next = await get(url);
        if (mine !== turn) return;
        if (push) history.pushState(null, "", url);
        adopt(next, true);
      } catch { if (mine === turn) { rows().removeAttribute("aria-busy"); lost(); } }
    };
    const read = async () => {
      const mine = turn;
      try { const next = await get(location.href, again); if (mine === turn) adopt(next); } catch { if (mine === turn) lost(); }
    };
    const search = () => {
      clearTimeout(timer);
      if (q.value.trim() === words) return;
      words = q.value.trim();
      stored.setItem(wordsKey, words);
      go(location.href.replace(/offset=\d+&?/, ""), true).then(() => { $("#news").textContent = $("#say").textContent; });
    };
    q.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(search, 300); });
    find.addEventListener("submit", e => { e.preventDefault(); search(); });
    $("#menus").addEventListener("submit", e => {
      e.preventDefault();
      const chosen = [...new FormData(e.target)].filter(([, value]) => value);
      document.activeElement.blur(); // so that the menu shows what it led to
      go("/waiting" + (chosen.length ? "?" + new URLSearchParams(chosen) : ""), true);
    });
    $(".g-list").addEventListener("click", e => {
      const link = e.target.closest("a[href]");
      if (!link || link.dataset.row || link.pathname.startsWith("/v1/") || e.ctrlKey || e.metaKey || e.shiftKey) return;
      e.preventDefault();
      if (link.id === "all") { words = q.value = ""; stored.removeItem(wordsKey); }
      const href = link.getAttribute("href"), keyboard = e.detail === 0;
      link.blur();
      go(link.href, true).then(() => { if (keyboard) ($$(".g-list a").find(a => a.getAttribute("href") === href) || $(".scroll", rows()) || q).focus(); });
    });
    fresh.onclick = () => { if (held) list(held); };
    document.addEventListener("mouseout", () => setTimeout(() => { if (held && !busy()) list(held); }));
    document.addEventListener("focusout", () => setTimeout(() => { if (held && !busy()) list(held); }));
    addEventListener("popstate", () => go(location.href));
    if (words) {
      stored.setItem(wordsKey, words);
      if (q.value !== words) { q.value = words; go(location.href); }
    }
    let ticks = 0;
    setInterval(() => { if (!document.hidden && (++ticks % 8 === 0 || $("#unread"))) read(); }, 1000);
    document.addEventListener("visibilitychange", () => { if (!document.hidden) read(); });
  }

  function tryNote() {
    let timer;
    // What is typed stays, the prediction before it does not.
    const unanswered = () => {
      const result = $("#result"), said = document.createElement("p");
      said.className = "empty";
      said.setAttribute("role", "status");
      said.textContent = "The server does not answer. What you typed is still here, and is sent again until it does.";
      $("header", result).replaceChildren($("h2", result));
      result.replaceChildren($("header", result), said);
      clearTimeout(timer);
      timer = setTimeout(send, 3000);
    };
    const send = () => swap(["result", "reading", ...$$(".err", form).map(e => e.id)], "/try", { method: "POST", body: new URLSearchParams(new FormData(form)) })
      .then(answered => answered === false ? unanswered() : $$("[aria-describedby]", form).forEach(f => { const e = document.getElementById(f.getAttribute("aria-describedby").split(" ")[0]); f.setAttribute("aria-invalid", !!(e && e.className === "err" && e.textContent)); }));
    form.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(send, 250); });
    form.addEventListener("submit", e => { e.preventDefault(); clearTimeout(timer); send(); });
    $("[name=example]").form.addEventListener("submit", async e => {
      e.preventDefault();
      try {
        const page = await load("/try", { method: "POST", body: new URLSearchParams({ example: 1 }) });
        form.replaceChildren(...page.getElementById("try").children);
      } catch { lost(); unanswered(); }
    });
  }

  // A part that refreshes itself is read again, unless somebody is about to use what would move.
  const refresh = $("[data-refresh]");
  if (refresh) setInterval(() => {
    const shown = document.getElementById(refresh.id);
    if (!document.hidden && !shown.contains(document.activeElement)) swap([refresh.id], location.href);
  }, 1000 * refresh.dataset.refresh);
  // Beds counts again each minute, unless somebody types or is about to use what would move. What is old says so.
  if ($("#beds")) {
    const old = () => {
      const at = Number($("#beds").dataset.fresh), note = $("#old");
      if (at && note) note.hidden = Date.now() - skew - at < 300000;
    };
    setInterval(() => {
      const shown = $("#beds"), choose = $("#choose"), typed = $$("input", shown).some(i => i.value !== i.defaultValue || i.checked !== i.defaultChecked);
      if (!document.hidden && shown.dataset.fresh && !typed && !shown.matches(":hover") && ![shown, choose].some(e => e && e.contains(document.activeElement)))
        swap(choose ? ["beds", "choose"] : ["beds"], location.href).then(() => { if ($("#print")) $("#print").hidden = false; old(); });
      old();
    }, 60000);
  }

  // A word lights the topics that hold it, and a topic its words.
  const words = $$("tr[data-in]"), topics = $$(".map a,[aria-labelledby=al] tbody a");
  const number = a => new URLSearchParams(a.getAttribute("href").split("?")[1]).get("t"), whole = a => a.closest("tr") || a;
  const light = ({ type, target }) => {
    const on = type === "mouseover" || type === "focusin", word = on && words.find(r => r.contains(target)), topic = on && topics.find(a => whole(a).contains(target));
    words.forEach(r => r.classList.toggle("lit", !!topic && r.dataset.in.split(" ").includes(number(topic))));
    topics.forEach(a => whole(a).classList.toggle("lit", !!word && word.dataset.in.split(" ").includes(number(a))));
  };
  if (words.length) ["mouseover", "mouseout", "focusin", "focusout"].forEach(type => document.addEventListener(type, light));

  // A link that holds the moment is copied if the browser lets us, else it leads there.
  document.addEventListener("click", e => {
    const link = e.target.closest("#copy,#print");
    if (!link) return;
    if (link.id === "print") return print();
    if (!navigator.clipboard) return;
    e.preventDefault();
    navigator.clipboard.writeText(link.href).then(() => { link.textContent = "Copied"; }, () => { location.href = link.href; });
  });
  const printing = $("#print");
  if (printing) printing.hidden = false;
  // Only what was typed stands in an address.
  document.addEventListener("submit", e => {
    const empty = e.target.id === "bf" ? [...e.target.elements].filter(f => f.name && !f.value) : [];
    empty.forEach(f => { f.disabled = true; });
    setTimeout(() => empty.forEach(f => { f.disabled = false; }));
  });

  const find = $("#q");
  if (find) document.addEventListener("keydown", e => { if (e.key === "/" && !e.target.closest("input,textarea,select")) { e.preventDefault(); find.focus(); } });
  document.addEventListener("change", e => { if (e.target.matches("select[data-submit]")) e.target.form.requestSubmit(); });
})();
