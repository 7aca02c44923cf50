// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"fmt"
	"os"
	"strings"

	"github.com/bowline-dev/bowline/internal/contract"
)

// A ledger with one promise kept and one that a test keeps already, though nobody has said so.
func Example() {
	ledger, err := contract.ParseLedger("[lights]\nR1\tproven\tthe lamp is lit\nR2\topen\tit goes out by itself\n")
	if err != nil {
		fmt.Println(err)
		return
	}
	events := `{"Action":"pass","Package":"lamp","Test":"TestLamp/R1_lit_at_dusk"}
{"Action":"pass","Package":"lamp","Test":"TestLamp/R2_out_at_dawn"}
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
	// VIOLATION: marked open, but tests that name them pass; run `go run ./internal/contract/cmd --update`:
	//   R2 it goes out by itself
	//
	// contract: 1 of 2
}
