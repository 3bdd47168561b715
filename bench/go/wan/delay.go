//go:build linux

package main

import (
	"log"
	"os"
	"time"
)

const (
	mtu = 9000
	// queued bounds the packets on the way in one direction, 36 MB: more than the systems under test have on the way. At the
	// bound the device is not read, and its own queue fills.
	queued = 4096
)

type packet struct {
	bytes []byte
	due   time.Time
}

// hold passes packets on in their order, each after the delay.
func hold(from, to *os.File, delay time.Duration) {
	waiting := make(chan packet, queued)
	spare := make(chan []byte, queued)
	go release(waiting, spare, to)
	for {
		var buffer []byte
		select {
		case buffer = <-spare:
		default:
			buffer = make([]byte, mtu)
		}
		read, err := from.Read(buffer[:mtu])
		if err != nil {
			log.Fatal(err)
		}
		waiting <- packet{bytes: buffer[:read], due: time.Now().Add(delay)}
	}
}

func release(waiting <-chan packet, spare chan<- []byte, to *os.File) {
	for each := range waiting {
		time.Sleep(time.Until(each.due))
		if _, err := to.Write(each.bytes); err != nil {
			log.Fatal(err)
		}
		select {
		case spare <- each.bytes:
		default:
		}
	}
}
