// A server for what keeps a cache in Redis; its version of miniredis is that of Argo CD's own tests.
module fairlead.dev/testbed/redis

go 1.24.0

require github.com/alicebob/miniredis/v2 v2.35.0

require github.com/yuin/gopher-lua v1.1.1 // indirect
