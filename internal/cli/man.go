package cli

import (
	"bytes"
	"cmp"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/alecthomas/kong"
)

// Man is a hidden command, which writes the manual pages: one for the program, and one for each command.
type Man struct {
	Out  string    `help:"Folder for the pages, made if it is missing." required:"" placeholder:"DIR"`
	Date time.Time `help:"Date that the pages bear." required:"" format:"2006-01-02" placeholder:"DATE"`
}

// Run writes the pages in mdoc, as mandoc and groff read it.
func (c *Man) Run(command *kong.Context) error {
	if err := os.MkdirAll(c.Out, 0o755); err != nil { //nolint:gosec // manual pages are for everybody
		return err
	}
	pages := append([]*kong.Node{command.Model.Node}, command.Model.Leaves(true)...)
	for i, node := range pages {
		name := strings.ReplaceAll(node.FullPath(), " ", "-")
		page := manual{name: name}
		page.head(c.Date, node)
		if i == 0 {
			page.text(command.Model.Help)
			page.macro("Sh COMMANDS\n.Bl -tag -width Ds")
			for _, leaf := range pages[1:] {
				page.macro("It Xr " + strings.ReplaceAll(leaf.FullPath(), " ", "-") + " 1")
				page.text(leaf.Help)
			}
			page.macro("El")
		}
		page.values(node)
		if node.Tag.Has(Example) {
			page.macro("Sh EXAMPLES\n.Bd -literal")
			for line := range strings.Lines(node.Tag.Get(Example)) {
				page.literal(strings.TrimSpace(line))
			}
			page.macro("Ed")
		}
		//nolint:gosec // manual pages are for everybody
		if err := os.WriteFile(filepath.Join(c.Out, name+".1"), page.Bytes(), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// manual is a page as it is written.
type manual struct {
	bytes.Buffer
	name string
}

func (m *manual) macro(line string) { m.WriteString("." + line + "\n") }

// head writes what comes before the flags.
func (m *manual) head(date time.Time, node *kong.Node) {
	m.macro("Dd " + date.Format("January 2, 2006"))
	m.macro("Dt " + strings.ToUpper(m.name) + " 1\n.Os\n.Sh NAME\n.Nm " + m.name)
	summary, _, _ := strings.Cut(node.Help, ". ")
	m.macro("Nd " + escaped(strings.TrimSuffix(summary, ".")))
	m.macro("Sh SYNOPSIS\n.Nm " + node.FullPath())
	for _, flag := range node.Flags {
		if flag.Required {
			m.macro("Fl -" + flag.Name + " Ar " + flag.FormatPlaceHolder())
		}
	}
	m.macro("Op Ar flags")
	for _, p := range node.Positional {
		if p.Required {
			m.macro("Ar " + p.Name)
		} else {
			m.macro("Op Ar " + p.Name)
		}
	}
	if !node.Leaf() {
		m.macro("Ar command")
	}
	m.macro("Sh DESCRIPTION")
	if node.Leaf() {
		m.text(node.Help)
		m.text(node.Detail)
	}
}

// values writes the arguments and the flags of a command, with those of the commands above it.
func (m *manual) values(node *kong.Node) {
	m.macro("Sh OPTIONS\n.Bl -tag -width Ds")
	for _, p := range node.Positional {
		m.macro("It Ar " + p.Name)
		m.text(p.Help)
	}
	for _, flags := range node.AllFlags(true) {
		for _, flag := range flags {
			item := "It Fl -" + flag.Name
			if flag.Short != 0 {
				item += " , Fl " + string(flag.Short)
			}
			if !flag.IsBool() {
				item += " Ar " + cmp.Or(strings.Trim(flag.FormatPlaceHolder(), `" `), "value")
			}
			m.macro(item)
			m.text(kong.DefaultHelpValueFormatter(flag.Value))
		}
	}
	m.macro("El")
}

// text writes sentences, each on lines of its own.
func (m *manual) text(s string) {
	line := ""
	flush := func() {
		if line != "" {
			m.literal(line)
		}
		line = ""
	}
	for word := range strings.FieldsSeq(s) {
		if line != "" && len(line)+len(word) > 70 {
			flush()
		}
		line = strings.TrimPrefix(line+" "+word, " ")
		if strings.ContainsAny(word[len(word)-1:], ".!?") {
			flush()
		}
	}
	flush()
}

// literal writes a line as it is, also one that begins as a macro does.
func (m *manual) literal(line string) {
	if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
		m.WriteString(`\&`)
	}
	m.WriteString(escaped(line) + "\n")
}

func escaped(s string) string { return strings.ReplaceAll(s, `\`, `\e`) }
