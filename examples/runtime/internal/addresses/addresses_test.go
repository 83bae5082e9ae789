package addresses

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestPool(t *testing.T) {
	p := New(netip.MustParsePrefix("10.244.3.0/29"))
	require.Equal(t, "10.244.3.1", p.Gateway().String())
	p.Claim(netip.MustParseAddr("10.244.3.4"))
	take := func() string {
		a, err := p.Take()
		require.NoError(t, err)
		return a.String()
	}
	require.Equal(t, []string{"10.244.3.2", "10.244.3.3"}, []string{take(), take()})
	p.Give(netip.MustParseAddr("10.244.3.2"))
	require.Equal(t, "10.244.3.5", take(), "an address that was given back comes last")
	require.Equal(t, []string{"10.244.3.6", "10.244.3.2"}, []string{take(), take()})
	_, err := p.Take()
	require.EqualError(t, err, "all addresses of 10.244.3.0/29 are taken")
	p.Give(netip.MustParseAddr("10.244.3.6"))
	require.Equal(t, "10.244.3.6", take())

	_, err = New(netip.MustParsePrefix("10.0.0.0/31")).Take()
	require.EqualError(t, err, "10.0.0.0/31 has no addresses for pods")
}
