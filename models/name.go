package models

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"
)

// Other is the name of the model for complaints without a model of their own.
const Other = "_other"

// Bounds of a model's name in bytes: of all of it, and of what Slug keeps of the complaint.
const (
	maxName = 128
	maxSlug = 80
)

// Slug returns the name of the model for a complaint. Complaints that differ only in case and white space are one
// complaint; others have other names:
//
//	"Lower  Extremity Injury"  lower-extremity-injury
//	"n/v"                      n-v_56310e0e
//	""                         _other
//
// Words of a-z and 0-9 are joined by '-'. If that loses anything of the folded complaint, or the store has a file or folder of
// that name, eight digits of its SHA-256
// follow after a '_', which no lossless name holds. Complaints that lose something and share the remaining words are told
// apart by these 32 bits only: a thousand of them would share a name somewhere with a probability of 1e-4.
func Slug(complaint string) string {
	words := strings.Fields(strings.ToLower(complaint))
	if len(words) == 0 {
		return Other
	}
	folded := strings.Join(words, " ")
	slug := strings.Join(strings.FieldsFunc(folded, func(r rune) bool {
		return !('a' <= r && r <= 'z' || '0' <= r && r <= '9')
	}), "-")
	if len(slug) <= maxSlug && slug == strings.ReplaceAll(folded, " ", "-") && !strings.Contains(folded, "-") && !reserved(slug) {
		return slug
	}
	slug = strings.TrimRight(slug[:min(len(slug), maxSlug)], "-")
	sum := sha256.Sum256([]byte(folded))
	return slug + "_" + hex.EncodeToString(sum[:4])
}

// versionLayout is the time in a version's name, in UTC; suffixDigits of the manifest's SHA-256 follow behind a '-'.
const (
	versionLayout = "2006-01-02T15-04-05Z"
	suffixDigits  = 6
)

// VersionName returns the name of the version made then, with that hexadecimal SHA-256 of its manifest.
func VersionName(created time.Time, manifestSHA256 string) string {
	return created.UTC().Format(versionLayout) + "-" + manifestSHA256[:suffixDigits]
}

// validVersion reports whether name is of the form that VersionName gives.
func validVersion(name string) bool {
	stamp, suffix, _ := strings.Cut(name, "Z-")
	t, err := time.Parse(versionLayout, stamp+"Z")
	return err == nil && t.Format(versionLayout)+"-"+suffix == name && len(suffix) == suffixDigits && strings.Trim(suffix, "0123456789abcdef") == ""
}
