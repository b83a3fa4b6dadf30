package textproc

import (
	"strings"
	"testing"
)

func TestMarkup(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{"denies fever<br>cough", "denies fever\ncough"},
		{"a<BR/>b<br />c", "a\nb\nc"},
		{"can&#39;t &#x27;t &apos;t", "can't 't 't"},
		{"n&amp;v &AMP; &lt;2 &gt;3", "n&v & <2 >3"},
		{`n\T\v a\.br\b a\.in+4\b \X0D\`, "n&v a\nb a\nb \n"},
		{"<li>fever</li><li>cough</li>", "\n- fever\n- \n- cough\n- "},
		{`<span style="x">a</span> <b>b</b>`, "a b"},
		{"38&deg;C &nbsp;&frac12;", "38 c   1/2"},
		{"a &#10; b &#13; c", "a \n b \n c"},
		{"&a\xffmp; b", "& b"},
		{"&amp;amp;", "&amp;"},
		{"<h1 id=a>a</H1><hr/><font color='red' size = 2>b</font>", "\na\n\nb"},
		// no markup
		{"sob <a week, chest pain >3 days", "sob <a week, chest pain >3 days"},
		{"hr <p 60 at rest, syncope, now> 90", "hr <p 60 at rest, syncope, now> 90"},
		{"<b pain> <i 2> <p/a> <a=b> <h1 2>", "<b pain> <i 2> <p/a> <a=b> <h1 2>"},
		{"n&v; cough", "n&v; cough"},
		{"cap refill <2 s > 3", "cap refill <2 s > 3"},
		{`n\v\d`, `n\v\d`},
		{"<mother>", "<mother>"},
		{"&#1114112; &#xd800; &#; &;", "&#1114112; &#xd800; &#; &;"},
		{"&" + strings.Repeat("a", 100) + ";", "&" + strings.Repeat("a", 100) + ";"},
		{"<", "<"},
	} {
		if got := foldString(c.text); got != c.want {
			t.Errorf("%q: got %q, want %q", c.text, got, c.want)
		}
	}
}
