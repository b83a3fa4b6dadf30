package msg

import (
	"math"
	"reflect"
	"strconv"
	"strings"
)

// codec reads and writes the messages of one type by its json tags, like encoding/json without HTML escapes. Scoring
// reads notes and writes predictions without one, which is faster.
type codec []member

// member is a field of a message, or of an object in one.
type member struct {
	name     string
	index    []int // as in reflect.Value.FieldByIndex
	optional bool  // left out if empty
	members  codec // of an object, or of the objects of a list
}

func newCodec(t reflect.Type) (c codec) {
	for _, f := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		inner := f.Type
		if inner.Kind() == reflect.Slice {
			inner = inner.Elem()
		}
		m := member{name: name, index: f.Index, optional: options != ""}
		if inner.Kind() == reflect.Struct {
			m.members = newCodec(inner)
		}
		c = append(c, m)
	}
	return c
}

var (
	arrivalCodec   = newCodec(reflect.TypeFor[arrivalMessage]())
	bedDemandCodec = newCodec(reflect.TypeFor[BedDemand]())
	championCodec  = newCodec(reflect.TypeFor[Champion]())
	noteCodec      = newCodec(reflect.TypeFor[Note]())
	outcomeCodec   = newCodec(reflect.TypeFor[Outcome]())
	scoredCodec    = newCodec(reflect.TypeFor[scoredMessage]())
	scoresCodec    = newCodec(reflect.TypeFor[Scores]())
)

// find returns the member of a name, or nil.
func (c codec) find(name string) *member {
	for i := range c {
		if c[i].name == name {
			return &c[i]
		}
	}
	return nil
}

// decode reads a message into the struct that to points to; fields that the message lacks are kept. The rules and the
// order of errors are those of DecodeNote; required lists required names, for example model.name. Absent and null
// numbers are 0; a fraction in an integer field is WrongType. It does not keep data.
func (c codec) decode(data []byte, version *string, to any, required ...string) error {
	var d decoder
	v := reflect.ValueOf(to).Elem()
	null := make(map[string]bool, len(required))
	for _, name := range required {
		null[name] = true
	}
	err := d.message(data, version, func(name string) bool {
		null[name] = d.Peek() == 'n'
		return d.member(c, "", name, v, 1)
	})
	if err != nil {
		return err
	}
	for _, path := range required {
		at, members := v, c
		for name := range strings.SplitSeq(path, ".") {
			m := members.find(name)
			at, members = at.FieldByIndex(m.index), m.members
		}
		if null[path] && members != nil || members == nil && blank(at.String()) {
			return &Error{MissingField, path}
		}
	}
	return nil
}

// member reads the named field into its place in the struct v, which the codec describes, or skips it. The field is
// depth levels deep, in the object group.
func (d *decoder) member(c codec, group, name string, v reflect.Value, depth int) bool {
	m := c.find(name)
	if m == nil {
		return d.Skip(depth)
	}
	return d.read(m, group+name, v.FieldByIndex(m.index), depth)
}

func (d *decoder) read(m *member, name string, v reflect.Value, depth int) bool {
	switch to := v.Addr().Interface().(type) {
	case *Optional:
		return d.float("", name, to)
	case *Value: // in an explanation; other types are skipped
		_, ok := d.value(to, depth)
		return ok
	}
	switch v.Kind() {
	case reflect.Struct:
		v.SetZero()
		return d.fields(name, func(field string) bool { return d.member(m.members, name+".", field, v, depth+1) })
	case reflect.Slice, reflect.Array:
		return d.list(m, name, v, depth)
	case reflect.String:
		var s string
		ok := d.text(name, &s, MaxField)
		v.SetString(s)
		return ok
	case reflect.Bool: // null reads as false
		c := d.Peek()
		if v.SetBool(c == 't'); c == 't' || c == 'f' || c == 'n' {
			return d.Skip(depth)
		}
		return d.mistyped(name)
	}
	var number Optional
	ok := d.float("", name, &number)
	switch {
	case v.Kind() == reflect.Float64:
		v.SetFloat(number.Value)
	case number.Value == math.Trunc(number.Value) && math.Abs(number.Value) <= mostInteger:
		v.SetInt(int64(number.Value))
	default:
		d.refuse(name)
	}
	return ok
}

// mostInteger is the largest number up to which both float64 and int hold all integers.
const mostInteger = min(1<<53, math.MaxInt)

// list reads a list into a slice, or exactly the length of an array; null reads as empty.
func (d *decoder) list(m *member, name string, v reflect.Value, depth int) bool {
	v.SetZero()
	switch d.Peek() {
	case '[':
	case 'n':
		return d.Literal("null")
	default:
		return d.mistyped(name)
	}
	n := 0
	ok := d.Array(func() bool {
		if n++; v.Kind() == reflect.Slice {
			v.Grow(1)
			v.SetLen(n)
		} else if n > v.Len() {
			return d.Skip(depth + 1)
		}
		return d.read(m, name, v.Index(n-1), depth+1)
	})
	if n != v.Len() {
		d.refuse(name)
	}
	return ok
}

// append appends the message that from points to as one JSON object to dst: an empty schema_version as SchemaVersion, a
// nil slice as [], and a number that is not finite as null. It allocates only to grow dst.
func (c codec) append(dst []byte, from any) []byte {
	return c.appendObject(dst, reflect.ValueOf(from).Elem())
}

func (c codec) appendObject(dst []byte, v reflect.Value) []byte {
	separator := byte('{')
	for i := range c {
		m := &c[i]
		field := v.FieldByIndex(m.index)
		if m.optional && (field.IsZero() || field.Kind() == reflect.Slice && field.Len() == 0) {
			continue
		}
		dst = append(append(append(dst, separator, '"'), m.name...), '"', ':')
		if separator = ','; m.name == "schema_version" && field.Len() == 0 {
			dst = appendString(dst, SchemaVersion)
			continue
		}
		dst = m.appendValue(dst, field)
	}
	return append(dst, '}')
}

func (m *member) appendValue(dst []byte, v reflect.Value) []byte {
	switch of := v.Addr().Interface().(type) {
	case *Optional:
		return appendFloat(dst, of.Value)
	case *Fields:
		return of.AppendJSON(dst)
	}
	switch v.Kind() {
	case reflect.String:
		return appendString(dst, v.String())
	case reflect.Float64:
		return appendFloat(dst, v.Float())
	case reflect.Int:
		return strconv.AppendInt(dst, v.Int(), 10)
	case reflect.Bool:
		return strconv.AppendBool(dst, v.Bool())
	case reflect.Struct:
		return m.members.appendObject(dst, v)
	}
	dst = append(dst, '[')
	for i := range v.Len() {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = m.appendValue(dst, v.Index(i))
	}
	return append(dst, ']')
}
