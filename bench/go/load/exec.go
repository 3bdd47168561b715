package main

import (
	"bufio"
	"crypto/rand"
	"crypto/tls"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"
)

const (
	wsBinary    = 0x82
	wsMasked    = 0x80
	wsLength16  = 126
	wsLength64  = 127
	stdin       = 0
	stdout      = 1
	maxMessage  = 1 << 20
	protocol    = "v5.channel.k8s.io"
	controlBits = 0x08
)

// apiExec sends one byte to the command that job.Path runs, and waits for it to come back, job.Count times, over a WebSocket.
func apiExec(job Job) Result {
	result := Result{Of: job.Count}
	var failures failures
	socket, err := job.API.upgrade(job.Path, job.deadline)
	if err != nil {
		failures.add(err)
		return failures.in(result)
	}
	defer socket.Close()
	var times []time.Duration
	enough := job.enough()
	for len(times) < job.Count+warmups && (len(times) < minPings || time.Now().Before(enough)) {
		before := time.Now()
		if err := socket.thereAndBack('x'); err != nil {
			failures.add(err)
			break
		}
		times = append(times, time.Since(before))
	}
	times = times[min(warmups, len(times)):]
	result.Count = len(times)
	result.P50Us, result.P99Us = percentileUs(times, 0.50), percentileUs(times, 0.99)
	return failures.in(result)
}

// webSocket is a connection that was upgraded; of RFC 6455 it has what an exec needs.
type webSocket struct {
	net.Conn
	reader *bufio.Reader
}

func (api *API) upgrade(path string, deadline time.Time) (*webSocket, error) {
	base, err := url.Parse(api.URL)
	if err != nil {
		return nil, err
	}
	config := api.tls.Clone()
	config.NextProtos = []string{"http/1.1"}
	dialler := &tls.Dialer{NetDialer: &net.Dialer{Deadline: deadline}, Config: config}
	raw, err := dialler.Dial("tcp", base.Host)
	if err != nil {
		return nil, err
	}
	socket := &webSocket{Conn: raw, reader: bufio.NewReader(raw)}
	if err := errors.Join(raw.SetDeadline(deadline), api.ask(socket, path)); err != nil {
		_ = raw.Close()
		return nil, err
	}
	return socket, nil
}

func (api *API) ask(socket *webSocket, path string) error {
	asked, err := http.NewRequest(http.MethodGet, api.URL+path, nil)
	if err != nil {
		return err
	}
	key := make([]byte, 16)
	_, _ = rand.Read(key)
	asked.Header.Set("Connection", "Upgrade")
	asked.Header.Set("Upgrade", "websocket")
	asked.Header.Set("Sec-WebSocket-Version", "13")
	asked.Header.Set("Sec-WebSocket-Key", base64.StdEncoding.EncodeToString(key))
	asked.Header.Set("Sec-WebSocket-Protocol", protocol)
	if api.Token != "" {
		asked.Header.Set("Authorization", "Bearer "+api.Token)
	}
	if err := asked.Write(socket); err != nil {
		return err
	}
	answer, err := http.ReadResponse(socket.reader, asked)
	if err != nil {
		return err
	}
	if answer.StatusCode != http.StatusSwitchingProtocols {
		return statusError(answer)
	}
	return nil
}

func (s *webSocket) thereAndBack(sent byte) error {
	// One whole binary message, with a mask of zeros (RFC 6455 wants one of every client): the channel, and the byte.
	if _, err := s.Write([]byte{wsBinary, wsMasked | 2, 0, 0, 0, 0, stdin, sent}); err != nil {
		return err
	}
	for {
		message, err := s.message()
		if err != nil {
			return err
		}
		// A channel says with an empty message that it is there.
		if len(message) < 2 {
			continue
		}
		if message[0] != stdout || message[1] != sent {
			return errors.New("something else came back: " + string(message[1:]))
		}
		return nil
	}
}

// message is the next one with data; what keeps the connection alive is passed over.
func (s *webSocket) message() ([]byte, error) {
	for {
		var head [2]byte
		if _, err := io.ReadFull(s.reader, head[:]); err != nil {
			return nil, err
		}
		length := uint64(head[1] & 0x7f)
		switch length {
		case wsLength16:
			var more [2]byte
			if _, err := io.ReadFull(s.reader, more[:]); err != nil {
				return nil, err
			}
			length = uint64(binary.BigEndian.Uint16(more[:]))
		case wsLength64:
			return nil, errors.New("a message is too long")
		}
		if length > maxMessage {
			return nil, errors.New("a message is too long")
		}
		message := make([]byte, length)
		if _, err := io.ReadFull(s.reader, message); err != nil {
			return nil, err
		}
		if head[0]&controlBits == 0 {
			return message, nil
		}
	}
}
