package recordset

import "encoding/binary"

// cursor takes values from the front of bytes. Once one was not there, it is short, and returns zeros.
type cursor struct {
	rest  []byte
	short bool
}

func (c *cursor) varint() int64 {
	v, n := binary.Varint(c.rest)
	if n <= 0 {
		c.rest, c.short = nil, true
		return 0
	}
	c.rest = c.rest[n:]
	return v
}

// bytes takes n bytes; a negative number is Kafka's null.
func (c *cursor) bytes(n int64) []byte {
	switch {
	case c.short || n < 0:
		return nil
	case n > int64(len(c.rest)):
		c.rest, c.short = nil, true
		return nil
	}
	b := c.rest[:n:n]
	c.rest = c.rest[n:]
	return b
}

func (c *cursor) int32() int32 {
	if b := c.bytes(4); b != nil {
		return int32(binary.BigEndian.Uint32(b))
	}
	return 0
}

func (c *cursor) int64() int64 {
	if b := c.bytes(8); b != nil {
		return int64(binary.BigEndian.Uint64(b))
	}
	return 0
}
