// Package command is what the load generator says to the target: nine bytes, an order and its number.
package command

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"time"
)

// Orders. After Download and Upload the connection takes the next one.
const (
	Download  = 'd' // answer with so many bytes of Pattern
	Upload    = 'u' // read so many bytes, then answer with one byte
	Echo      = 'e' // answer each Block with itself, until the end
	Flood     = 'f' // write without end
	Stall     = 's' // read nothing for so many milliseconds, then break the connection
	SendClose = 'c' // answer with so many bytes of Pattern and close
	HalfClose = 'h' // read to the end, then answer with so many bytes of Pattern and close
	Receive   = 'r' // read Pattern to the end and remember how much came under this number, an odd one with pauses
	Received  = 'q' // once that has ended, answer with how much it was, eight bytes; it is then forgotten
)

const (
	// Block is the size of a ping and of a banner.
	Block = 64
	size  = 9
)

// Pattern is what downloads consist of, over and over: bytes that no mistake leaves equal.
var Pattern = pattern()

func pattern() []byte {
	pattern := make([]byte, 256<<10)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(pattern)
	return pattern
}

// SlowReader pauses for this long after each 256 KiB, so that the end comes while much is still on the way.
const SlowReader = 10 * time.Millisecond

// Check compares what was received from an offset on with the pattern.
func Check(received []byte, offset int64) error {
	for len(received) > 0 {
		expected := Pattern[offset%int64(len(Pattern)):]
		length := min(len(expected), len(received))
		if !bytes.Equal(received[:length], expected[:length]) {
			return errors.New("other bytes came")
		}
		received, offset = received[length:], offset+int64(length)
	}
	return nil
}

// Write sends an order.
func Write(to io.Writer, order byte, number int64) error {
	var head [size]byte
	head[0] = order
	binary.BigEndian.PutUint64(head[1:], uint64(number))
	_, err := to.Write(head[:])
	return err
}

// Read waits for the next order; io.EOF if none comes.
func Read(from io.Reader) (order byte, number int64, err error) {
	var head [size]byte
	if _, err := io.ReadFull(from, head[:]); err != nil {
		return 0, 0, err
	}
	return head[0], int64(binary.BigEndian.Uint64(head[1:])), nil
}
