// Package identity reads certificates from the benchmark's folders.
package identity

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"os"
	"path/filepath"
)

// Load reads <name>.crt and <name>.key of a folder, and the roots of its ca.crt.
func Load(folder, name string) (tls.Certificate, *x509.CertPool, error) {
	certificate, err := tls.LoadX509KeyPair(filepath.Join(folder, name+".crt"), filepath.Join(folder, name+".key"))
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	root, err := os.ReadFile(filepath.Join(folder, "ca.crt"))
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(root) {
		return tls.Certificate{}, nil, errors.New("ca.crt holds no certificate")
	}
	return certificate, roots, nil
}
