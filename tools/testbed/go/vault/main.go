// Command vault serves Vault's own core, HTTP API and transit engine over TLS on loopback, as `vault server -dev` does: in memory,
// initialised and unsealed with one key, with a root token. What upstream's program holds besides (agent, UI, storage drivers, plugins of
// clouds) is left out: its module refers to folders that are in no published module.
//
// It prints one line of JSON: address, root token and unseal key. It ends with its standard input.
package main

import (
	"context"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"

	"github.com/hashicorp/go-hclog"
	aead "github.com/hashicorp/go-kms-wrapping/v2/aead"
	"github.com/hashicorp/vault/builtin/logical/transit"
	"github.com/hashicorp/vault/helper/namespace"
	vaulthttp "github.com/hashicorp/vault/http"
	"github.com/hashicorp/vault/internalshared/configutil"
	"github.com/hashicorp/vault/sdk/helper/consts"
	"github.com/hashicorp/vault/sdk/logical"
	"github.com/hashicorp/vault/sdk/physical/inmem"
	"github.com/hashicorp/vault/vault"
	"github.com/hashicorp/vault/vault/seal"
)

// Set by the linker: upstream's.
var version = "unknown"

func main() {
	showVersion := flag.Bool("version", false, "print the version and end")
	cert := flag.String("cert", "", "PEM file of the certificate")
	key := flag.String("key", "", "PEM file of its key")
	flag.Parse()
	if *showVersion {
		fmt.Println(version)
		return
	}
	if err := serve(*cert, *key); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve(certFile, keyFile string) error {
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		return err
	}
	core, err := newCore(hclog.New(&hclog.LoggerOptions{Name: "vault", Level: hclog.Warn, Output: os.Stderr}))
	if err != nil {
		return err
	}
	token, unsealKey, err := begin(core)
	if err != nil {
		return err
	}
	config := &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	listener, err := tls.Listen("tcp", "127.0.0.1:0", config)
	if err != nil {
		return err
	}
	ready := map[string]string{"address": listener.Addr().String(), "token": token, "unsealKey": unsealKey}
	if err := json.NewEncoder(os.Stdout).Encode(ready); err != nil {
		return err
	}
	go endWithInput(listener)
	properties := &vault.HandlerProperties{Core: core, ListenerConfig: &configutil.Listener{}}
	err = http.Serve(listener, vaulthttp.Handler.Handler(properties))
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// Whoever started it has gone.
func endWithInput(listener net.Listener) {
	_, _ = io.Copy(io.Discard, os.Stdin)
	_ = listener.Close()
}

func newCore(logger hclog.Logger) (*vault.Core, error) {
	physical, err := inmem.NewInmem(nil, logger)
	if err != nil {
		return nil, err
	}
	shamir := seal.NewSealWrapper(aead.NewShamirWrapper(), 1, "shamir", "shamir", false, true)
	access, err := seal.NewAccessFromSealWrappers(logger, 1, true, []*seal.SealWrapper{shamir})
	if err != nil {
		return nil, err
	}
	return vault.NewCore(&vault.CoreConfig{
		Physical:        physical,
		Seal:            vault.NewDefaultSeal(access),
		LogicalBackends: map[string]logical.Factory{"transit": transit.Factory, "kv": vault.PassthroughBackendFactory},
		BuiltinRegistry: registry{},
		DisableMlock:    true,
		Logger:          logger,
	})
}

// Initialises and unseals it.
func begin(core *vault.Core) (token, unsealKey string, err error) {
	ctx := namespace.RootContext(context.Background())
	barrier := &vault.SealConfig{SecretShares: 1, SecretThreshold: 1, StoredShares: 1, Name: "shamir"}
	made, err := core.Initialize(ctx, &vault.InitParams{BarrierConfig: barrier})
	if err != nil {
		return "", "", err
	}
	unsealKey = hex.EncodeToString(made.SecretShares[0])
	unsealed, err := core.Unseal(append([]byte(nil), made.SecretShares[0]...))
	if err == nil && !unsealed {
		err = errors.New("it stays sealed")
	}
	return made.RootToken, unsealKey, err
}

// No plugins but those that are compiled in above.
type registry struct{}

func (registry) Contains(name string, kind consts.PluginType) bool {
	return kind == consts.PluginTypeSecrets && (name == "transit" || name == "kv")
}

func (registry) Get(string, consts.PluginType) (func() (interface{}, error), bool) { return nil, false }

func (registry) Keys(kind consts.PluginType) []string {
	if kind == consts.PluginTypeSecrets {
		return []string{"kv", "transit"}
	}
	return nil
}

func (registry) DeprecationStatus(string, consts.PluginType) (consts.DeprecationStatus, bool) {
	return consts.Supported, true
}

func (registry) IsBuiltinEntPlugin(string, consts.PluginType) bool { return false }
