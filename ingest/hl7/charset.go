package hl7

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
)

// charset decodes bytes into UTF-8. Its zero value is UTF-8 itself.
type charset struct{ table *charmap.Charmap }

// charsets are the names of HL7 table 0211 that are supported, and others for the same sets that senders use, without
// spaces, dashes, slashes and underscores.
var charsets = map[string]charset{
	"": {}, "ASCII": {}, "USASCII": {}, "ISOIR6": {},
	"UNICODEUTF8": {}, "UTF8": {},
	"88591": {charmap.Windows1252}, "ISO88591": {charmap.Windows1252}, "ISOIR100": {charmap.Windows1252},
	"885915": {charmap.ISO8859_15}, "ISO885915": {charmap.ISO8859_15},
}

var charsetMarks = strings.NewReplacer(" ", "", "-", "", "/", "", "_", "")

func findCharset(name string) (c charset, known bool) {
	c, known = charsets[charsetMarks.Replace(strings.ToUpper(name))]
	return c, known
}

// decode returns data in UTF-8, and whether all of it exists in the character set.
func (c charset) decode(data []byte) (text string, valid bool) {
	if c.table == nil {
		return string(data), utf8.Valid(data)
	}
	var b strings.Builder
	b.Grow(len(data))
	for _, x := range data {
		// The five bytes that Windows-1252 does not define decode as U+FFFD.
		b.WriteRune(c.table.DecodeByte(x))
	}
	return b.String(), true
}
