package main

import (
	"io"
	"net"
	"sync"
	"time"

	"fairlead.dev/bench/command"
)

// ledger remembers how much came on connections that have ended.
type ledger struct {
	mutex sync.Mutex
	known map[int64]int64
}

var receipts = ledger{known: map[int64]int64{}}

const (
	// wrong stands for bytes that are not the pattern.
	wrong = -1
	// patience is how long a question waits for the connection to end.
	patience = 3 * time.Second
)

func (l *ledger) put(number, received int64) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.known[number] = received
}

// take is 0 also for what never came.
func (l *ledger) take(number int64) int64 {
	for until := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		l.mutex.Lock()
		received, known := l.known[number]
		delete(l.known, number)
		l.mutex.Unlock()
		if known || time.Now().After(until) {
			return received
		}
	}
}

// receiveAll is how many bytes of the pattern came before the end, clean or not.
func receiveAll(client *net.TCPConn, slowly bool) int64 {
	buffer := make([]byte, len(command.Pattern))
	for received := int64(0); ; {
		read, err := io.ReadFull(client, buffer)
		if command.Check(buffer[:read], received) != nil {
			return wrong
		}
		received += int64(read)
		if err != nil {
			return received
		}
		if slowly {
			time.Sleep(command.SlowReader)
		}
	}
}
