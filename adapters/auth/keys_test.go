package auth

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/adapters/rest"
	"hexarena/domain/owner"
	"hexarena/eventstore"
	"hexarena/eventstore/logtest"
)

// mover is an owner who registers one key pair.
type mover struct {
	*fixture
	t      *testing.T
	caller owner.Caller
	key    owner.NewKey
	proof  string
}

// The function movers() returns one owner for each name. All of them have the same key
// pair.
func movers(t *testing.T, f *fixture, names ...string) (all []mover) {
	t.Helper()
	public, private, err := ed25519.GenerateKey(nil)
	require.NoError(t, err)
	base, err := url.Parse("https://arena.example")
	require.NoError(t, err)
	for _, name := range names {
		account, cookie := f.signIn(t, name+"@example.org", 0)
		caller, err := f.Verify(t.Context(), withCookies(cookie), nil, now(0))
		require.NoError(t, err)
		all = append(all, mover{
			f, t, caller, owner.NewKey{Name: name, PublicKey: public, Scopes: owner.DefaultScopes()},
			encodeBase64(ed25519.Sign(private, []byte(rest.KeyChallenge(base, account.ID, public)))),
		})
	}
	return all
}

func (m mover) register(proof string) error {
	_, _, err := m.RegisterKey(m.t.Context(), m.caller, m.key, proof, now(0))
	return err
}

// The method active() counts the account's active keys.
func (m mover) active() int {
	m.t.Helper()
	account, err := m.options.Accounts.Load(m.t.Context(), m.caller.OwnerID)
	require.NoError(m.t, err)
	n := 0
	for _, k := range account.Keys {
		if !k.Revoked() {
			n++
		}
	}
	return n
}

func TestKeyMovesWithAProof(t *testing.T) {
	f := newFixture(t)
	all := movers(t, f, "eve", "ada")
	eve, ada := all[0], all[1]
	require.NoError(t, eve.register(""))
	require.ErrorIs(t, eve.register(eve.proof), owner.ErrKeyExists)
	require.ErrorIs(t, ada.register(""), owner.ErrProofNeeded)
	require.Equal(t, 1, eve.active())

	require.NoError(t, ada.register(ada.proof))
	require.Equal(t, [2]int{0, 1}, [2]int{eve.active(), ada.active()})
	account, err := f.options.Accounts.Load(t.Context(), eve.caller.OwnerID)
	require.NoError(t, err)
	require.True(t, account.Keys[0].NoticeOwed())

	require.ErrorIs(t, eve.register(""), owner.ErrProofNeeded)
	require.NoError(t, eve.register(eve.proof))
	require.Equal(t, [2]int{1, 0}, [2]int{eve.active(), ada.active()})
}

func TestKeyThatNobodyUsesNeedsNoProof(t *testing.T) {
	for name, give := range map[string]func(*testing.T, *fixture, mover){
		"revoked by its owner": func(t *testing.T, f *fixture, m mover) {
			f.store(t, m.caller.OwnerID, owner.APIKeyRevoked{KeyID: f.firstKey(t, m)})
		},
		"of a deleted account": func(t *testing.T, f *fixture, m mover) { f.store(t, m.caller.OwnerID, owner.Deleted{}) },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			all := movers(t, f, "eve", "ada")
			require.NoError(t, all[0].register(""))
			give(t, f, all[0])
			require.NoError(t, all[1].register(""))
			require.Equal(t, 1, all[1].active())
			account, err := f.options.Accounts.Load(t.Context(), all[0].caller.OwnerID)
			require.NoError(t, err)
			for _, k := range account.Keys {
				require.False(t, k.NoticeOwed())
			}
		})
	}
}

func (f *fixture) firstKey(t *testing.T, m mover) string {
	account, err := f.options.Accounts.Load(t.Context(), m.caller.OwnerID)
	require.NoError(t, err)
	return account.Keys[0].ID
}

// A key that was registered before public keys had streams may be active in several
// accounts.
func TestOldRegistrationsYield(t *testing.T) {
	f := newFixture(t)
	all := movers(t, f, "eve", "mia", "ada")
	for _, m := range all[:2] {
		f.store(t, m.caller.OwnerID, owner.APIKeyRegistered{KeyID: "old-" + m.key.Name, Name: m.key.Name, PublicKey: m.key.PublicKey})
	}
	before := f.logText(t)
	require.ErrorIs(t, all[2].register(""), owner.ErrProofNeeded)
	require.Equal(t, before, f.logText(t), "a refused call changes nothing")
	require.NoError(t, all[2].register(all[2].proof))
	require.Equal(t, [3]int{0, 0, 1}, [3]int{all[0].active(), all[1].active(), all[2].active()})
}

func TestWrongProofs(t *testing.T) {
	f := newFixture(t)
	all := movers(t, f, "eve", "ada")
	eve, ada := all[0], all[1]
	require.NoError(t, eve.register(""))
	_, private, err := ed25519.GenerateKey(nil)
	require.NoError(t, err)
	base, err := url.Parse("https://arena.example")
	require.NoError(t, err)
	challenge := rest.KeyChallenge(base, ada.caller.OwnerID, ada.key.PublicKey)
	before := f.logText(t)
	for name, proof := range map[string]string{
		"of another account": eve.proof, "by another key": encodeBase64(ed25519.Sign(private, []byte(challenge))),
		"not base64": "!", "cut": ada.proof[4:], "with a line break": ada.proof + "\n",
	} {
		err := ada.register(proof)
		var invalid *owner.InvalidError
		require.ErrorAs(t, err, &invalid, name)
		require.Contains(t, err.Error(), fmt.Sprintf("%q", challenge))
	}
	require.Equal(t, before, f.logText(t))
	require.True(t, strings.HasPrefix(challenge, "hexarena key proof\narena.example\n"+ada.caller.OwnerID+"\n"))
}

// A call that cannot register the key does not take it away from anyone.
func TestRefusedRegistrationTakesNothing(t *testing.T) {
	f := newFixture(t)
	all := movers(t, f, "eve", "ada")
	eve, ada := all[0], all[1]
	require.NoError(t, eve.register(""))
	for i := range owner.KeyLimit {
		f.addKey(t, ada.caller.OwnerID, fmt.Sprint("k", i))
	}
	before := f.logText(t)
	require.ErrorIs(t, ada.register(ada.proof), owner.ErrKeyLimit)
	ada.caller.Session = "ended"
	require.ErrorIs(t, ada.register(ada.proof), owner.ErrUnauthenticated)
	require.Equal(t, before, f.logText(t))
}

// The type dying is a log that fails all writes after the first n, as if the process
// had been killed. If the field answered is false, the last write is stored but returns
// an error.
type dying struct {
	eventstore.Log
	mu       sync.Mutex
	left     int
	answered bool
}

var errKilled = errors.New("killed")

func (d *dying) Append(ctx context.Context, id eventstore.StreamID, e eventstore.Expected, events ...eventstore.Event) (eventstore.Appended, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.left == 0 {
		return eventstore.Appended{}, errKilled
	}
	d.left--
	appended, err := d.Log.Append(ctx, id, e, events...)
	if d.left == 0 && !d.answered {
		return eventstore.Appended{}, errKilled
	}
	return appended, err
}

// Even if the process dies after any write of a move, the key works in at most one
// account, and repeating the call completes the move. The owner who loses the key gets
// exactly one notice.
func TestMoveSurvivesADeathAfterEachWrite(t *testing.T) {
	const writes = 3 // the claim, the revocation and the registration
	for after := range writes + 1 {
		for _, answered := range []bool{true, false} {
			t.Run(fmt.Sprintf("%d writes, answered %t", after, answered), func(t *testing.T) {
				f := newFixture(t)
				all := movers(t, f, "eve", "ada")
				eve, ada := all[0], all[1]
				require.NoError(t, eve.register(""))
				log := &dying{Log: f.log, left: after, answered: answered}
				f.options.Log, f.options.Accounts = log, plainAccounts{log}
				err := ada.register(ada.proof)
				if after == writes && answered {
					require.NoError(t, err)
				} else {
					require.ErrorIs(t, err, errKilled)
				}
				require.LessOrEqual(t, eve.active()+ada.active(), 1)

				f.options.Log, f.options.Accounts = f.log, plainAccounts{f.log}
				err = ada.register(ada.proof)
				if after == writes {
					require.ErrorIs(t, err, owner.ErrKeyExists)
				} else {
					require.NoError(t, err)
				}
				require.Equal(t, [2]int{0, 1}, [2]int{eve.active(), ada.active()})
				require.Equal(t, 1, strings.Count(f.logText(t), `"by":"other_account"`)-f.refusedClaims(t, ada), "one notice to eve")
			})
		}
	}
}

// refusedClaims counts an account's claims that can no longer lead to a registered key.
func (f *fixture) refusedClaims(t *testing.T, m mover) (n int) {
	for r, err := range f.log.Read(t.Context(), eventstore.StreamID(owner.AccountStream(m.caller.OwnerID)), 0, eventstore.ReadOptions{}) {
		require.NoError(t, err)
		n += strings.Count(string(r.Data), `"by":"other_account"`)
	}
	return n
}

// Owners with the same key pair register it at the same time, with and without proofs,
// and some of their processes die. At no point in the log is the key active in two
// accounts.
func TestConcurrentMovesNeverShareAKey(t *testing.T) {
	random := logtest.Random(t)
	for range 30 {
		f := newFixture(t)
		all := movers(t, f, "ada", "bob", "eve", "mia")
		log := f.log
		var calls sync.WaitGroup
		for i := range 24 {
			m, proof := all[i%len(all)], ""
			at := now(time.Duration(random.IntN(180)) * time.Second) // so that the grace period of some claims is over
			if random.IntN(3) > 0 {
				proof = m.proof
			}
			mortal := &dying{Log: log, left: 1 + random.IntN(8), answered: random.IntN(2) == 0}
			service := *f.Service
			service.options.Log, service.options.Accounts = mortal, plainAccounts{mortal}
			calls.Go(func() {
				_, _, err := service.RegisterKey(t.Context(), m.caller, m.key, proof, at)
				for _, allowed := range []error{nil, owner.ErrProofNeeded, owner.ErrKeyExists, owner.ErrKeyContested, errKilled} {
					if errors.Is(err, allowed) {
						return
					}
				}
				if !eventstore.IsWrongVersion(err) {
					t.Errorf("%v", err)
				}
			})
		}
		calls.Wait()
		active := map[string]string{} // key id → owner
		for r, err := range log.ReadAll(t.Context(), 0, eventstore.ReadOptions{}) {
			require.NoError(t, err)
			ownerID, ok := owner.ParseAccountStream(string(r.Stream))
			if !ok {
				continue
			}
			e, err := owner.Decode(r.Type, r.Data)
			require.NoError(t, err)
			switch e := e.(type) {
			case owner.APIKeyRegistered:
				require.Empty(t, active, "registered as %s", e.KeyID)
				active[e.KeyID] = ownerID
			case owner.APIKeyRevoked:
				delete(active, e.KeyID)
			}
		}
		require.NoError(t, ignore(all[0].register(all[0].proof), owner.ErrKeyExists))
		require.Equal(t, 1, all[0].active(), "a later call with a proof completes")
	}
}

func ignore(err, expected error) error {
	if errors.Is(err, expected) {
		return nil
	}
	return err
}
