// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"fmt"
	"os"
	"strings"

	"github.com/bowline-dev/bowline/internal/contract"
)

// A ledger with a proven id, and an open one that a test proves already.
func Example() {
	ledger, err := contract.ParseLedger("[lights]\nR1\tproven\nR2\topen\n")
	if err != nil {
		fmt.Println(err)
		return
	}
	events := `{"Action":"pass","Package":"lamp","Test":"TestLamp/lit_at_dusk_(R1)"}
{"Action":"pass","Package":"lamp","Test":"TestLamp/out_at_dawn_(R2)"}
{"Action":"pass","Package":"lamp"}`
	results, err := contract.ReadResults(strings.NewReader(events), func(string) {})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := contract.Check(ledger, results, false).Print(os.Stdout); err != nil {
		fmt.Println(err)
	}
	// Output:
	// section  proven  superseded  documentation  open  holds
	// lights   1       0           0              1     1 of 2
	//
	// VIOLATION: marked open, but their tests pass; mark them proven in ledger.tsv and docs/contract.md:
	//   R2
	//     ok   lamp TestLamp/out_at_dawn_(R2)
	//
	// contract: 1 of 2
}
