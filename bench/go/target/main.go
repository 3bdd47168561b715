// Command target is what everything ends at: a TCP server that does what package command says, and costs as little as
// possible, so that what is measured is the way to it. It prints one line of JSON, {"address", "banner"}, when it listens on
// free ports of 127.0.0.1 (or of the one address given), and ends when its standard input does. On the port `banner` it
// speaks first.
package main

import (
	"encoding/binary"
	"encoding/json"
	"io"
	"log"
	"net"
	"os"
	"time"

	"fairlead.dev/bench/command"
	"fairlead.dev/bench/endwithparent"
)

const (
	maxBytes = 64 << 30
	maxStall = time.Minute
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("target: ")
	endwithparent.Watch()
	host := "127.0.0.1"
	if len(os.Args) == 2 {
		host = os.Args[1]
	}
	address := serve(host, obey)
	banner := serve(host, speakFirst)
	if err := json.NewEncoder(os.Stdout).Encode(map[string]string{"address": address, "banner": banner}); err != nil {
		log.Fatal(err)
	}
	select {}
}

func serve(host string, handle func(*net.TCPConn)) string {
	listener, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		log.Fatal(err)
	}
	go func() {
		for {
			accepted, err := listener.Accept()
			if err != nil {
				log.Fatal(err)
			}
			go func() {
				defer accepted.Close()
				handle(accepted.(*net.TCPConn))
			}()
		}
	}()
	return listener.Addr().String()
}

func speakFirst(client *net.TCPConn) {
	if _, err := client.Write(command.Pattern[:command.Block]); err != nil {
		return
	}
	_, _ = io.Copy(io.Discard, client)
}

func obey(client *net.TCPConn) {
	buffer := make([]byte, 64<<10)
	for {
		order, number, err := command.Read(client)
		if err != nil || number < 0 || number > maxBytes {
			return
		}
		if !do(client, order, number, buffer) {
			return
		}
	}
}

// do says whether another order may follow.
func do(client *net.TCPConn, order byte, number int64, buffer []byte) bool {
	switch order {
	case command.Download:
		return send(client, number)
	case command.Upload:
		return receive(client, number, buffer)
	case command.Echo:
		echo(client, buffer[:command.Block])
	case command.Flood:
		send(client, maxBytes)
	case command.Stall:
		// What was not read makes the end a reset.
		time.Sleep(min(maxStall, time.Duration(number)*time.Millisecond))
	case command.SendClose:
		send(client, number)
	case command.Receive:
		receipts.put(number, receiveAll(client, number%2 == 1))
	case command.Received:
		answer := binary.BigEndian.AppendUint64(nil, uint64(receipts.take(number)))
		_, _ = client.Write(answer)
	case command.HalfClose:
		if _, err := io.Copy(io.Discard, client); err == nil {
			send(client, number)
		}
	}
	return false
}

func send(client *net.TCPConn, left int64) bool {
	for left > 0 {
		written, err := client.Write(command.Pattern[:min(left, int64(len(command.Pattern)))])
		if err != nil {
			return false
		}
		left -= int64(written)
	}
	return true
}

func receive(client *net.TCPConn, left int64, buffer []byte) bool {
	for left > 0 {
		read, err := client.Read(buffer[:min(left, int64(len(buffer)))])
		if err != nil {
			return false
		}
		left -= int64(read)
	}
	_, err := client.Write([]byte{'k'})
	return err == nil
}

func echo(client *net.TCPConn, block []byte) {
	for {
		if _, err := io.ReadFull(client, block); err != nil {
			return
		}
		if _, err := client.Write(block); err != nil {
			return
		}
	}
}
