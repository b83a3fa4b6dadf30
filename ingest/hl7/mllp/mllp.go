// Package mllp transports HL7 v2 messages over TCP by the Minimal Lower Layer Protocol: a vertical tab, the message, a
// file separator and a carriage return. It has a server, which answers each message, and a client, which sends one
// message at a time and waits for its answer.
//
// A frame ends at its file separator: nothing waits for the carriage return, which some senders omit. Bytes between
// frames are skipped. A vertical tab followed by MSH within a frame begins the message anew: the sender gave up on the
// first one.
package mllp

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

const (
	frameBegin = 0x0b
	frameEnd   = 0x1c
	frameTail  = '\r'

	bufferSize = 16 << 10
	// kept is how much of a message that is too large is returned: its MSH, so that it can be answered.
	kept = 4 << 10
	// skipped bounds what is read of a message that is too large, as a multiple of the limit.
	skipped = 8
)

// ErrTooLarge says that a message exceeds the limit; its beginning was read, and its end found.
var ErrTooLarge = errors.New("mllp: the message is too large")

// ErrEndless says that the end of a message was not found within a multiple of the limit. The connection is of no use.
var ErrEndless = errors.New("mllp: the message does not end")

// Frame appends a message as a frame to dst.
func Frame(dst, message []byte) []byte {
	dst = append(dst, frameBegin)
	dst = append(dst, message...)
	return append(dst, frameEnd, frameTail)
}

// Reader reads the frames of a connection, however they are cut into packets.
type Reader struct {
	r      *bufio.Reader
	limit  int
	buffer []byte
	begun  func() // called when a frame begins
}

// NewReader returns a reader of messages of at most limit bytes.
func NewReader(r io.Reader, limit int) *Reader {
	return &Reader{r: bufio.NewReaderSize(r, bufferSize), limit: limit, begun: func() {}}
}

// Next returns the next message, which is valid until the next call. It returns io.EOF at the end between two messages,
// and io.ErrUnexpectedEOF within one. With ErrTooLarge it returns the beginning of the message; the next call returns
// the message after it.
func (r *Reader) Next() ([]byte, error) {
	for {
		chunk, err := r.r.ReadSlice(frameBegin)
		if err == nil {
			break
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return nil, err
		}
		_ = chunk // not in a frame
	}
	r.begun()
	r.buffer = r.buffer[:0]
	size := 0
	for {
		chunk, err := r.r.ReadSlice(frameEnd)
		size += len(chunk)
		if room := r.limit + 1 - len(r.buffer); room > 0 {
			r.buffer = append(r.buffer, chunk[:min(room, len(chunk))]...)
		}
		switch {
		case err == nil:
			return r.message(size - 1)
		case errors.Is(err, io.EOF):
			return nil, io.ErrUnexpectedEOF
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		case size > skipped*r.limit:
			return nil, ErrEndless
		}
	}
}

var anew = []byte{frameBegin, 'M', 'S', 'H'}

// message returns the message of a frame of this size, whose beginning is in the buffer.
func (r *Reader) message(size int) ([]byte, error) {
	if size > r.limit {
		return r.buffer[:min(len(r.buffer), kept)], ErrTooLarge
	}
	message := r.buffer[:size]
	if i := bytes.LastIndex(message, anew); i >= 0 {
		message = message[i+1:]
	}
	return message, nil
}
