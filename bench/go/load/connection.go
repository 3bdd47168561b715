package main

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"
)

const readBytes = 256 << 10

type client struct {
	target        *url.URL
	authorization string
	deadline      time.Time
	tls           *tls.Config
}

// connection is one HTTP/1.1 connection that is kept alive. It is written by hand on net/http's parser: http.Transport
// spends more on goroutines and channels per request than some of what is measured here.
type connection struct {
	client *client
	tls    *tls.Conn
	reader *bufio.Reader
	buffer []byte
}

func (c *client) dial() (*connection, error) {
	dialer := &net.Dialer{Deadline: c.deadline}
	established, err := tls.DialWithDialer(dialer, "tcp", c.target.Host, c.tls)
	if err != nil {
		return nil, err
	}
	if err := established.SetDeadline(c.deadline); err != nil {
		_ = established.Close()
		return nil, err
	}
	return &connection{client: c, tls: established, reader: bufio.NewReaderSize(established, 4<<10)}, nil
}

// get asks for path and reads the whole answer, which must be 200 and exactly want bytes.
func (c *connection) get(path string, want int64) error {
	request := "GET " + c.client.target.Path + path + " HTTP/1.1\r\nHost: " + c.client.target.Host + "\r\n"
	if c.client.authorization != "" {
		request += "Authorization: " + c.client.authorization + "\r\n"
	}
	if _, err := io.WriteString(c.tls, request+"\r\n"); err != nil {
		return err
	}
	answer, err := http.ReadResponse(c.reader, nil)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		said, _ := io.ReadAll(io.LimitReader(answer.Body, 300))
		return fmt.Errorf("status %d: %s", answer.StatusCode, said)
	}
	got, err := c.discard(answer.Body)
	if err != nil {
		return err
	}
	if got != want {
		return fmt.Errorf("%d bytes came instead of %d", got, want)
	}
	return nil
}

// discard reads to the end. io.Copy to io.Discard would read 8 KiB at a time.
func (c *connection) discard(body io.Reader) (int64, error) {
	if c.buffer == nil {
		c.buffer = make([]byte, readBytes)
	}
	var total int64
	for {
		read, err := body.Read(c.buffer)
		total += int64(read)
		if err == io.EOF {
			return total, nil
		}
		if err != nil {
			return total, err
		}
	}
}

func (c *connection) close() {
	_ = c.tls.Close()
}
