// Command coredns is CoreDNS with the plugins that the DNS of a cluster needs. Upstream's own command links those of every cloud too,
// which take most of its build.
package main

import (
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/coremain"

	_ "github.com/coredns/coredns/plugin/cache"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/health"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/loadbalance"
	_ "github.com/coredns/coredns/plugin/log"
	_ "github.com/coredns/coredns/plugin/metrics"
	_ "github.com/coredns/coredns/plugin/ready"
)

// A query passes the plugins in this order, as in upstream's plugin.cfg.
var order = []string{"ready", "health", "prometheus", "errors", "log", "cache", "loadbalance", "kubernetes"}

func main() {
	dnsserver.Directives = order
	coremain.Run()
}
