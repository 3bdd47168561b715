// Package command is what the load generator says to the target: nine bytes, an order and its number.
package command

import (
	"encoding/binary"
	"io"
	"math/rand/v2"
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
)

const (
	// Block is the size of a ping and of a banner.
	Block = 64
	size  = 9
)

// Pattern is what downloads consist of, over and over: bytes that no mistake leaves equal.
var Pattern = pattern()

func pattern() []byte {
	bytes := make([]byte, 256<<10)
	source := rand.NewChaCha8([32]byte{1})
	_, _ = source.Read(bytes)
	return bytes
}

// Write sends an order.
func Write(to io.Writer, order byte, number int64) error {
	var bytes [size]byte
	bytes[0] = order
	binary.BigEndian.PutUint64(bytes[1:], uint64(number))
	_, err := to.Write(bytes[:])
	return err
}

// Read waits for the next order; io.EOF if none comes.
func Read(from io.Reader) (order byte, number int64, err error) {
	var bytes [size]byte
	if _, err := io.ReadFull(from, bytes[:]); err != nil {
		return 0, 0, err
	}
	return bytes[0], int64(binary.BigEndian.Uint64(bytes[1:])), nil
}
