package web

import (
	"html/template"
	"net/http"
	"strconv"
	"strings"
)

// livePage is the page Live.
type livePage struct {
	Rows      []template.HTML
	Last      string // id of the newest
	Counts    counts
	Chosen    *row
	Gone      bool // the chosen row is not kept any more
	ShowNotes bool
}

// counts are numbers of rows by kind.
type counts struct{ All, Admit, Close, None int }

// live shows the latest predictions, and what moved one of them.
func (p *Pages) live(w http.ResponseWriter, r *http.Request) {
	feed := p.options.Feed
	list, last := feed.latest(pageRows, 0)
	page := livePage{Last: feed.id(last), ShowNotes: feed.notes}
	for _, f := range list {
		p.draw(f)
		page.Counts.add(f.kind)
	}
	v := view{template: "live", title: "Live", here: "Live", class: "live"}
	var chosen *published
	if wanted := r.URL.Query().Get("row"); wanted != "" {
		v.class += " row"
		if n, err := strconv.ParseUint(wanted, 10, 64); err == nil {
			chosen = feed.at(n)
		}
		page.Gone = chosen == nil
	} else if len(list) > 0 {
		chosen = list[0]
	}
	if chosen != nil {
		page.Chosen = chosen.row()
		page.Chosen.Selected = true
	}
	for _, f := range list {
		html := f.html
		if f == chosen {
			html = p.drawRow(page.Chosen)
		}
		page.Rows = append(page.Rows, html)
	}
	v.data = page
	p.write(w, r, v)
}

// add counts a row of these kinds.
func (c *counts) add(kinds string) {
	c.All++
	for kind := range strings.FieldsSeq(kinds) {
		switch kind {
		case "admit":
			c.Admit++
		case "close":
			c.Close++
		case "none":
			c.None++
		}
	}
}
