package fhir

import (
	"encoding/base64"
	"encoding/xml"
	"errors"
	"io"
	"mime"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
)

// Attachment is the content of a document.
type Attachment struct {
	ContentType string `json:"contentType"`
	Data        string `json:"data"` // base64
	URL         string `json:"url"`
}

// charsets are the character sets of attachments that are supported; nil is UTF-8.
var charsets = map[string]*charmap.Charmap{
	"": nil, "utf-8": nil, "us-ascii": nil, "iso-8859-1": charmap.Windows1252, "windows-1252": charmap.Windows1252,
	"iso-8859-15": charmap.ISO8859_15,
}

// Text returns the text of an attachment of type text/plain, or text/html or XHTML without its tags. The error is
// ErrUnsupported, ErrElsewhere or ErrBadContent.
func (a *Attachment) Text() (string, error) {
	kind, parameters, err := mime.ParseMediaType(a.ContentType)
	table, known := charsets[strings.ToLower(parameters["charset"])]
	markup := kind == "text/html" || kind == "application/xhtml+xml"
	switch {
	case err != nil, !known, kind != "text/plain" && !markup:
		return "", ErrUnsupported
	case a.Data == "" && a.URL != "":
		return "", ErrElsewhere
	}
	data, err := base64.StdEncoding.DecodeString(a.Data)
	if err != nil {
		return "", ErrBadContent
	}
	if table != nil {
		data, _ = table.NewDecoder().Bytes(data) // bytes that are not defined become U+FFFD
	}
	switch {
	case !utf8.Valid(data):
		return "", ErrBadContent
	case markup:
		return plain(string(data))
	}
	return strings.TrimSpace(string(data)), nil
}

// inline are the elements within a line; others end it.
var inline = map[string]bool{
	"a": true, "abbr": true, "b": true, "code": true, "em": true, "i": true, "small": true, "span": true,
	"strong": true, "sub": true, "sup": true, "tt": true, "u": true,
}

// plain returns the text of markup.
func plain(markup string) (string, error) {
	d := xml.NewDecoder(strings.NewReader(markup))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	var lines []string
	var line strings.Builder
	end := func() {
		if words := strings.Join(strings.Fields(line.String()), " "); words != "" {
			lines = append(lines, words)
		}
		line.Reset()
	}
	hidden := 0 // depth within a script or style
	element := func(name string, step int) {
		name = strings.ToLower(name)
		if name == "script" || name == "style" || name == "head" {
			hidden += step
		}
		if !inline[name] {
			end()
		}
	}
	for {
		token, err := d.Token()
		switch {
		case errors.Is(err, io.EOF):
			end()
			return strings.Join(lines, "\n"), nil
		case err != nil:
			return "", ErrBadContent
		}
		switch t := token.(type) {
		case xml.StartElement:
			element(t.Name.Local, 1)
		case xml.EndElement:
			element(t.Name.Local, -1)
		case xml.CharData:
			if hidden == 0 {
				line.Write(t)
			}
		}
	}
}
