package bundle

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
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

// reserved are the files and folders of a store next to those of the models.
var reserved = []string{"champion", "generations", "beds"}

// Slug returns the name of the model for a complaint. Complaints that differ only in case and white space are one
// complaint; others have other names:
//
//	"Lower  Extremity Injury"  lower-extremity-injury
//	"n/v"                      n-v_56310e0e
//	""                         _other
//
// Words of a-z and 0-9 are joined by '-'. If that loses anything of the folded complaint, or the store has a file or
// folder of that name, eight digits of its SHA-256 follow after a '_', which no lossless name holds. Complaints that
// lose something and share the remaining words differ in these 32 bits only: two of a thousand would share a name with
// a probability of 1e-4.
func Slug(complaint string) string {
	words := strings.Fields(strings.ToLower(complaint))
	if len(words) == 0 {
		return Other
	}
	folded := strings.Join(words, " ")
	slug := strings.Join(strings.FieldsFunc(folded, func(r rune) bool {
		return !('a' <= r && r <= 'z' || '0' <= r && r <= '9')
	}), "-")
	if len(slug) <= maxSlug && slug == strings.ReplaceAll(folded, " ", "-") && !strings.Contains(folded, "-") &&
		!slices.Contains(reserved, slug) {
		return slug
	}
	slug = strings.TrimRight(slug[:min(len(slug), maxSlug)], "-")
	sum := sha256.Sum256([]byte(folded))
	return slug + "_" + hex.EncodeToString(sum[:4])
}

// ValidModel reports whether name may be the folder of a model: of Slug's alphabet, and not one of the store's own.
func ValidModel(name string) bool {
	const allowed = "abcdefghijklmnopqrstuvwxyz0123456789-_"
	return name != "" && len(name) <= maxName && strings.Trim(name, allowed) == "" && !slices.Contains(reserved, name)
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

// OfVersion reports whether a file with that hexadecimal SHA-256 may be the one that the version is named after.
func OfVersion(version, sha256 string) bool {
	return strings.HasSuffix(version, "-"+sha256[:suffixDigits])
}

// Created returns the time in the name of a version, which ValidVersion has checked.
func Created(version string) time.Time {
	created, _ := time.Parse(versionLayout, version[:len(versionLayout)])
	return created
}

// ValidVersion reports whether name is one that VersionName can return.
func ValidVersion(name string) bool {
	stamp, suffix, _ := strings.Cut(name, "Z-")
	t, err := time.Parse(versionLayout, stamp+"Z")
	return err == nil && t.Format(versionLayout)+"-"+suffix == name && len(suffix) == suffixDigits &&
		strings.Trim(suffix, "0123456789abcdef") == ""
}
