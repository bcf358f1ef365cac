package main

import (
	"context"
	"fmt"
	"time"

	"hexarena/adapters/drand"
	"hexarena/adapters/matchmaker"
	"hexarena/adapters/secrets"
	"hexarena/domain/beacon"
)

// beaconTime limits the call that reads a chain's parameters at startup.
const beaconTime = 10 * time.Second

// openBeacon creates the client of the beacon. It calls the relay only if the
// chain is not quicknet.
func (a *arena) openBeacon(ctx context.Context) error {
	if a.Beacon == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, beaconTime)
	defer cancel()
	chain, err := drand.Fetch(ctx, a.Beacon, a.beaconChain)
	if err != nil {
		return fmt.Errorf("--beacon %s: read the chain: %w", a.Beacon, err)
	}
	a.beacon = drand.New(drand.Options{URL: a.Beacon, Chain: chain, Logger: a.logger})
	return nil
}

// beaconInfo returns the chain that the API shows, or nil without a beacon.
func (a *arena) beaconInfo() *beacon.Info {
	if a.beacon == nil {
		return nil
	}
	info := a.beacon.Chain().Info()
	return &info
}

// awaitBeacon waits until the client has called the relay once, because the first
// tick would otherwise seat nobody.
func (a *arena) awaitBeacon(ctx context.Context) {
	if a.beacon == nil {
		return
	}
	select {
	case <-a.beacon.Polled():
	case <-ctx.Done():
	}
}

// rotation returns the schedule for seed key rotations, or nil if only an operator
// rotates the key.
func (a *arena) rotation() matchmaker.Rotation {
	if a.SeedKeyRotation == 0 {
		return nil
	}
	return seedKeyRotation{a.secrets, a.SeedKeyRotation}
}

// seedKeyRotation implements matchmaker.Rotation.
type seedKeyRotation struct {
	secrets *secrets.Secrets
	age     time.Duration
}

// RotateIfDue implements matchmaker.Rotation.
func (r seedKeyRotation) RotateIfDue(ctx context.Context) (id string, err error) {
	rotated, err := r.secrets.RotateIfOlder(ctx, r.age, time.Now())
	return rotated.Added, err
}
