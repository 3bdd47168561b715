// Command server stands where a kube-apiserver would: an HTTPS server that costs as little as possible, so that what is
// measured is the way to it. It prints one line of JSON, {"address", "caPem"}, when it listens on a free port of
// 127.0.0.1, and ends when its standard input does.
//
//	/bytes?n=N  N bytes
//	/ping       64 bytes
//	/version    what an agent asks a kube-apiserver first
package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"log"
	"math/big"
	"net"
	"net/http"
	"os"
	"strconv"
	"time"

	"fairlead.dev/bench/endwithparent"
)

const (
	pingBytes  = 64
	chunkBytes = 256 << 10
	maxBytes   = 64 << 30
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("server: ")
	endwithparent.Watch()
	certificate, caPem, err := selfSigned()
	if err != nil {
		log.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	server := &http.Server{
		Handler:           routes(),
		TLSConfig:         &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS13},
		TLSNextProto:      map[string]func(*http.Server, *tls.Conn, http.Handler){}, // HTTP/1.1 only
		ReadHeaderTimeout: 10 * time.Second,
	}
	ready := map[string]string{"address": listener.Addr().String(), "caPem": string(caPem)}
	if err := json.NewEncoder(os.Stdout).Encode(ready); err != nil {
		log.Fatal(err)
	}
	log.Fatal(server.ServeTLS(listener, "", ""))
}

func routes() http.Handler {
	ping := make([]byte, pingBytes)
	chunk := make([]byte, chunkBytes)
	_, _ = rand.Read(chunk)
	mux := http.NewServeMux()
	mux.HandleFunc("/ping", func(w http.ResponseWriter, _ *http.Request) {
		octets(w, pingBytes)
		_, _ = w.Write(ping)
	})
	mux.HandleFunc("/bytes", func(w http.ResponseWriter, r *http.Request) {
		left, err := strconv.ParseInt(r.URL.Query().Get("n"), 10, 64)
		if err != nil || left < 0 || left > maxBytes {
			http.Error(w, "n is a number of bytes", http.StatusBadRequest)
			return
		}
		octets(w, left)
		for left > 0 {
			written, err := w.Write(chunk[:min(left, chunkBytes)])
			if err != nil {
				return
			}
			left -= int64(written)
		}
	})
	mux.HandleFunc("/version", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"gitVersion":"v0.0.0-bench"}`))
	})
	return mux
}

// octets announces the length, so that no answer is chunked: the same bytes travel through every system.
func octets(w http.ResponseWriter, length int64) {
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Length", strconv.FormatInt(length, 10))
}

// selfSigned makes a certificate for 127.0.0.1 that is its own root. Its key never leaves this process.
func selfSigned() (tls.Certificate, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(time.Now().UnixNano()),
		Subject:               pkix.Name{CommonName: "fairlead bench"},
		NotBefore:             time.Now().Add(-time.Minute),
		NotAfter:              time.Now().Add(24 * time.Hour),
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1)},
		BasicConstraintsValid: true,
		IsCA:                  true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	caPem := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, caPem, nil
}
