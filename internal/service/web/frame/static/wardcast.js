// Behaviour of the pages. Every page works without it, Live aside: that one then shows what there was when it was loaded.
"use strict";
(() => {
  const $ = (selector, from = document) => from.querySelector(selector);
  const $$ = (selector, from = document) => [...from.querySelectorAll(selector)];
  const body = document.body, conn = $("#conn"), feed = $("#feed"), form = $("#try");
  const skew = Date.now() - Number(body.dataset.now); // of this clock against the server's
  let heard = Date.now(); // when the server last said something

  const clock = at => new Date(at).toTimeString().slice(0, 5);
  const since = ms => {
    const minutes = Math.floor(ms / 60000);
    if (minutes < 1) return "now";
    if (minutes < 60) return minutes + " min ago";
    return Math.floor(minutes / 60) + " h " + minutes % 60 + " min ago";
  };
  const ages = () => $$("time[data-at]").forEach(t => { t.dataset.text ??= t.textContent; t.textContent = since(Date.now() - skew - Number(t.dataset.at)); });

  // Paper has the time itself: it does not say how long ago that was when it is read.
  addEventListener("beforeprint", () => $$("time[data-text]").forEach(t => { t.textContent = t.dataset.text; }));
  addEventListener("afterprint", ages);

  // Connection: never silent when it is lost.
  const stale = $("#stale");
  const patients = stale && stale.hasAttribute("data-patients"); // the page lists them, or counts them
  let away = false; // not connected
  const show = (lost, text) => {
    conn.classList.toggle("off", lost);
    $("b", conn).textContent = lost ? "Not connected" : "Connected";
    $("span", conn).textContent = text ? "· " + text : "";
    body.classList.toggle("is-stale", lost);
    if (!stale) return;
    const frozen = lost && (away || patients);
    if (frozen) {
      const newest = feed && $("time[data-at]", feed);
      $("p", stale).textContent = "Not updating since " + clock(heard) + "." +
        (newest ? " The last prediction came " + since(Date.now() - skew - Number(newest.dataset.at)).replace("now", "less than a minute ago") + "." : "") +
        " Trying again." + (patients ? " Work from the patient, not from this list." : "");
    }
    if (stale.hidden === frozen) stale.hidden = !frozen;
  };
  // What a page says of now is not known any more once the connection is lost.
  const doubt = () => $$("[data-now-known]").forEach(e => { e.hidden = away; e.nextElementSibling.hidden = !away; e.nextElementSibling.textContent = "Not known since " + clock(heard); });
  const lost = () => { away = true; show(true, "last update " + clock(heard)); doubt(); };
  const state = text => {
    heard = Date.now();
    away = false;
    doubt();
    const s = JSON.parse(text);
    if (s.ready) show(false, s.text); else { show(true, s.text); $("b", conn).textContent = "Not scoring"; }
  };
  const poll = () => fetch("/live/state").then(r => r.ok ? r.text() : Promise.reject()).then(state).catch(lost);

  // swap replaces the elements of these ids by those of another page of ours.
  let asked = 0;
  const swap = async (ids, url, options) => {
    const turn = ++asked, targets = ids.map(id => document.getElementById(id));
    targets.forEach(t => t.setAttribute("aria-busy", "true"));
    try {
      const answer = await fetch(url, options);
      if (!(answer.headers.get("content-type") || "").startsWith("text/html")) throw new Error("no page");
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      if (turn !== asked) return;
      ids.forEach((id, i) => { const next = page.getElementById(id); if (next) targets[i].replaceWith(next); });
      ages();
    } catch { if (turn === asked) { targets.forEach(t => t.removeAttribute("aria-busy")); lost(); } }
  };

  if (feed) live(); else { setInterval(poll, 15000); }
  if (form) tryNote();
  setInterval(() => { ages(); if (away) lost(); }, 10000);
  ages();

  function live() {
    const held = document.createElement("ol"), waiting = $("#waiting"), pause = $("#pause"), news = $("#news");
    let paused = false, source, timer, filter = "all", complaint = "", opened = 0, said = Date.now(), unsaid = [0, 0];
    const rows = () => $$("li[data-kind]", feed);
    const count = () => {
      const all = rows(), of = kind => all.filter(r => r.dataset.kind.split(" ").includes(kind)).length;
      $("#n-all").textContent = all.length;
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
    };
    const busy = () => paused || feed.matches(":hover") || feed.contains(document.activeElement);
    const flush = () => {
      if (held.childElementCount) {
        const arrived = $$("li", held);
        arrived.forEach(r => r.classList.add("new"));
        feed.prepend(...arrived);
        rows().slice(50).forEach(r => r.remove());
        $$(".more", feed).slice(3).forEach(r => r.remove());
      }
      waiting.hidden = true;
      ages(); count();
    };
    const take = html => {
      const list = new DOMParser().parseFromString("<ol>" + html + "</ol>", "text/html");
      const fresh = $$("li", list);
      held.prepend(...fresh);
      $$("li", held).slice(60).forEach(r => r.remove());
      unsaid[0] += fresh.filter(r => r.dataset.kind).length;
      unsaid[1] += fresh.filter(r => (r.dataset.kind || "").includes("admit")).length;
      if (busy()) {
        waiting.hidden = false;
        waiting.textContent = $$("li[data-kind]", held).length + " new";
      } else flush();
    };
    const open = () => {
      clearTimeout(timer);
      if (source) source.close();
      if (document.hidden) return;
      opened = Date.now();
      source = new EventSource("/live/feed?after=" + encodeURIComponent(feed.dataset.last));
      source.addEventListener("rows", e => { heard = Date.now(); feed.dataset.last = e.lastEventId; take(e.data); });
      source.addEventListener("fresh", () => { feed.replaceChildren(); held.replaceChildren(); });
      source.addEventListener("state", e => state(e.data));
      source.onerror = () => {
        lost();
        if (source.readyState === EventSource.CLOSED) { clearTimeout(timer); timer = setTimeout(open, 1000 + 29000 * Math.random()); }
      };
    };
    $$(".js").forEach(e => { e.hidden = false; });
    pause.onclick = () => { paused = !paused; pause.setAttribute("aria-pressed", paused); pause.textContent = paused ? "Resume" : "Pause"; if (!busy()) flush(); };
    waiting.onclick = () => { flush(); const first = $("a", feed); if (first) first.focus(); };
    feed.addEventListener("mouseleave", () => { if (!busy()) flush(); });
    feed.addEventListener("focusout", () => setTimeout(() => { if (!busy()) flush(); }));
    $("#again").onclick = open;
    $$("[data-filter]").forEach(b => { b.onclick = () => { filter = b.dataset.filter; $$("[data-filter]").forEach(o => o.setAttribute("aria-pressed", o === b)); count(); }; });
    $("#complaint").onchange = e => { complaint = e.target.value; count(); };
    feed.addEventListener("click", e => {
      const link = e.target.closest("a");
      if (!link || e.ctrlKey || e.metaKey || e.shiftKey || innerWidth < 1024) return;
      e.preventDefault();
      $$(".sel", feed).forEach(r => { r.classList.remove("sel"); $("a", r).removeAttribute("aria-current"); });
      link.closest("li").classList.add("sel");
      link.setAttribute("aria-current", "true");
      swap(["why"], link.href);
    });
    feed.addEventListener("keydown", e => {
      const links = $$("li:not([hidden]) a", feed), at = links.indexOf(document.activeElement);
      if (e.key === "ArrowDown" || e.key === "ArrowUp") { const to = links[at + (e.key === "ArrowDown" ? 1 : -1)]; if (to) { to.focus(); e.preventDefault(); } }
      if (e.key === "p" || e.key === "P") pause.click();
    });
    document.addEventListener("visibilitychange", () => { if (document.hidden) { if (source) source.close(); } else open(); });
    setInterval(() => {
      if (!document.hidden && Date.now() - Math.max(heard, opened) > 12000) lost();
      if (unsaid[0] && Date.now() - said > 10000) { news.textContent = unsaid[0] + " new, " + unsaid[1] + " likely to be admitted"; said = Date.now(); unsaid = [0, 0]; }
    }, 1000);
    count();
    open();
  }

  function tryNote() {
    let timer;
    const send = () => swap(["result", "reading", ...$$(".err", form).map(e => e.id)], "/try", { method: "POST", body: new URLSearchParams(new FormData(form)) })
      .then(() => $$("[aria-describedby]", form).forEach(f => { const e = document.getElementById(f.getAttribute("aria-describedby").split(" ")[0]); f.setAttribute("aria-invalid", !!(e && e.className === "err" && e.textContent)); }));
    form.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(send, 250); });
    form.addEventListener("submit", e => { e.preventDefault(); clearTimeout(timer); send(); });
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
      const shown = $("#beds"), typed = $$("input", shown).some(i => i.value !== i.defaultValue || i.checked !== i.defaultChecked);
      if (!document.hidden && shown.dataset.fresh && !typed && !shown.matches(":hover") && !shown.contains(document.activeElement)) swap(["beds"], location.href).then(old);
      old();
    }, 60000);
  }

  const find = $("#q");
  if (find) document.addEventListener("keydown", e => { if (e.key === "/" && !e.target.closest("input,textarea,select")) { e.preventDefault(); find.focus(); } });
  $$("select[data-submit]").forEach(s => { s.onchange = () => s.form.requestSubmit(); });
})();
