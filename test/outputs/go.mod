module github.com/tidelock/tidelock/test/outputs

go 1.26.0

require (
	istio.io/api v1.32.0
	sigs.k8s.io/gateway-api v1.6.3
)
