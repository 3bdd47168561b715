package main

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// Way is how a system is entered.
type Way struct {
	Address string `json:"address"`
	// CaPem, CertPem, KeyPem are for mutual TLS; all empty for plain TCP.
	CaPem   string `json:"caPem"`
	CertPem string `json:"certPem"`
	KeyPem  string `json:"keyPem"`
	// Connect asks for the target with HTTP CONNECT; else the way leads to one target only.
	Connect bool `json:"connect"`

	tls *tls.Config
}

func (way *Way) prepare() error {
	if way.CaPem == "" {
		return nil
	}
	host, _, err := net.SplitHostPort(way.Address)
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM([]byte(way.CaPem)) {
		return errors.New("caPem holds no certificate")
	}
	certificate, err := tls.X509KeyPair([]byte(way.CertPem), []byte(way.KeyPem))
	if err != nil {
		return err
	}
	way.tls = &tls.Config{
		RootCAs:      roots,
		ServerName:   host,
		Certificates: []tls.Certificate{certificate},
		MinVersion:   tls.VersionTLS13,
		// No session cache: a new connection is a full handshake for every system.
	}
	return nil
}

// stream is one connection to the target.
type stream struct {
	net.Conn
	// head holds what came with the answer to CONNECT; nil for none.
	head *bufio.Reader
}

// dial leads to the target; until deadline also for what is read and written on it then.
func (way *Way) dial(target string, deadline time.Time) (*stream, error) {
	address := way.Address
	if !way.Connect && way.tls == nil && address == "" {
		address = target
	}
	dialer := &net.Dialer{Deadline: deadline}
	raw, err := dialer.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	opened, err := way.open(raw, target, deadline)
	if err != nil {
		_ = raw.Close()
		return nil, err
	}
	return opened, nil
}

func (way *Way) open(raw net.Conn, target string, deadline time.Time) (*stream, error) {
	if err := raw.SetDeadline(deadline); err != nil {
		return nil, err
	}
	if way.tls == nil {
		return &stream{Conn: raw}, nil
	}
	secure := tls.Client(raw, way.tls)
	if err := secure.Handshake(); err != nil {
		return nil, err
	}
	if !way.Connect {
		return &stream{Conn: secure}, nil
	}
	return connectThrough(secure, target)
}

func connectThrough(door net.Conn, target string) (*stream, error) {
	if _, err := io.WriteString(door, "CONNECT "+target+" HTTP/1.1\r\nHost: "+target+"\r\n\r\n"); err != nil {
		return nil, err
	}
	reader := bufio.NewReaderSize(door, 4<<10)
	answer, err := http.ReadResponse(reader, &http.Request{Method: http.MethodConnect})
	if err != nil {
		return nil, err
	}
	if answer.StatusCode != http.StatusOK {
		said, _ := io.ReadAll(io.LimitReader(answer.Body, 300))
		return nil, fmt.Errorf("status %d: %s", answer.StatusCode, said)
	}
	return &stream{Conn: door, head: reader}, nil
}

func (s *stream) Read(into []byte) (int, error) {
	if s.head != nil && s.head.Buffered() > 0 {
		return s.head.Read(into)
	}
	s.head = nil
	return s.Conn.Read(into)
}

// end says that nothing more will be sent.
func (s *stream) end() error {
	return s.Conn.(interface{ CloseWrite() error }).CloseWrite()
}

// abort breaks the connection, as a client does that is killed.
func (s *stream) abort() {
	under := s.Conn
	if secure, ok := under.(*tls.Conn); ok {
		under = secure.NetConn()
	}
	_ = under.(*net.TCPConn).SetLinger(0)
	_ = under.Close()
}
