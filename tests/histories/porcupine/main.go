// Judges histories by porcupine, a checker of linearizability: is there one order of the operations, each at a moment
// between its call and its return, in which each does what it says to the rows of one table?
//
// Reads the export of tests/histories/export.py, one operation a line, from each file that is named. Writes a line a
// file: its name and "ok", "illegal", or "unknown" where the time was not enough.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

type row struct {
	ID int64  `json:"id"`
	P  *int64 `json:"p"`
	K  *int64 `json:"k"`
}

type operation struct {
	Process     int             `json:"process"`
	Kind        string          `json:"kind"`
	Rows        []row           `json:"rows"`
	Where       json.RawMessage `json:"where"`
	Application string          `json:"application"`
	Number      int64           `json:"number"`
	Found       []row           `json:"found"`
	Call        int64           `json:"call"`
	Return      int64           `json:"return"`
}

// The rows, sorted, and of each application the transaction that the table has.
type state struct {
	rows string
	done string
}

func text(value *int64) string {
	if value == nil {
		return "-"
	}
	return strconv.FormatInt(*value, 10)
}

func (r row) text() string {
	return fmt.Sprintf("%d %s %s", r.ID, text(r.P), text(r.K))
}

func joined(rows []string) string {
	sort.Strings(rows)
	return strings.Join(rows, "\n")
}

func texts(rows []row) []string {
	found := []string{}
	for _, r := range rows {
		found = append(found, r.text())
	}
	return found
}

// The value of a column in the text of a row. False: it is NULL.
func value(line, column string) (int64, bool) {
	place := map[string]int{"id": 0, "p": 1, "k": 2}[column]
	number, err := strconv.ParseInt(strings.Fields(line)[place], 10, 64)
	return number, err == nil
}

func matches(line string, where [][]any) bool {
	for _, part := range where {
		found, known := value(line, part[0].(string))
		wanted := int64(part[2].(float64))
		holds := map[string]bool{
			"=": found == wanted, "<>": found != wanted, "<": found < wanted, "<=": found <= wanted,
			">": found > wanted, ">=": found >= wanted,
		}[part[1].(string)]
		if !known || !holds {
			return false
		}
	}
	return true
}

// What stays of the rows when a condition's, or a partition's, go.
func kept(rows string, op operation) []string {
	found := []string{}
	var conditions [][]any
	var name string
	isDynamic := json.Unmarshal(op.Where, &name) == nil && name == "dynamic"
	if !isDynamic {
		if err := json.Unmarshal(op.Where, &conditions); err != nil {
			panic(err)
		}
	}
	partitions := map[string]bool{}
	for _, r := range op.Rows {
		partitions[text(r.P)] = true
	}
	for _, line := range strings.Split(rows, "\n") {
		if line == "" {
			continue
		}
		goes := isDynamic && partitions[strings.Fields(line)[1]] || !isDynamic && matches(line, conditions)
		if !goes {
			found = append(found, line)
		}
	}
	return found
}

func all(rows string) []string {
	if rows == "" {
		return nil
	}
	return strings.Split(rows, "\n")
}

func step(s, input, _ any) (bool, any) {
	now, op := s.(state), input.(operation)
	switch op.Kind {
	case "read":
		return joined(texts(op.Found)) == now.rows, now
	case "append":
		return true, state{joined(append(all(now.rows), texts(op.Rows)...)), now.done}
	case "append_once":
		done := map[string]int64{}
		if now.done != "" {
			if err := json.Unmarshal([]byte(now.done), &done); err != nil {
				panic(err)
			}
		}
		if last, known := done[op.Application]; known && last >= op.Number {
			return true, now
		}
		done[op.Application] = op.Number
		told, _ := json.Marshal(done)
		return true, state{joined(append(all(now.rows), texts(op.Rows)...)), string(told)}
	case "delete":
		return true, state{joined(kept(now.rows, op)), now.done}
	case "overwrite":
		return true, state{joined(append(kept(now.rows, op), texts(op.Rows)...)), now.done}
	}
	panic("unknown kind " + op.Kind)
}

func judged(path string) porcupine.CheckResult {
	file, err := os.Open(path)
	if err != nil {
		panic(err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<26)
	operations := []porcupine.Operation{}
	for lines.Scan() {
		var op operation
		if err := json.Unmarshal(lines.Bytes(), &op); err != nil {
			panic(err)
		}
		operations = append(operations, porcupine.Operation{
			ClientId: op.Process, Input: op, Call: op.Call, Output: nil, Return: op.Return,
		})
	}
	model := porcupine.Model{Init: func() any { return state{} }, Step: step}
	return porcupine.CheckOperationsTimeout(model, operations, time.Minute)
}

func main() {
	names := map[porcupine.CheckResult]string{porcupine.Ok: "ok", porcupine.Illegal: "illegal", porcupine.Unknown: "unknown"}
	for _, path := range os.Args[1:] {
		fmt.Println(path, names[judged(path)])
	}
}
