#include "groth16/r1cs_json.h"

#include <string.h>

#include "base/alloc.h"
#include "base/json_dom.h"
#include "program/explicit.h"

#define MAX_VARS 0x20000000u

typedef struct rows {
    size_t n_rows, n_terms, cap_terms;
    size_t *row; /* [n_rows + 1] */
    zk_explicit_term *terms;
} rows;

static cuzk_status read_value(zk_fr *value, uint8_t bytes[32], const zk_json_value *json, const char *what,
                              cuzk_err *err) {
    ZK_TRY(zk_json_get_hex(bytes, 32, json, what, err));
    if (zk_fr_from_bytes_le(value, bytes)) return CUZK_OK;
    return ZK_FAIL(err, CUZK_BAD_INPUT, "%s at byte %llu: found a value that is not below r", what,
                   (unsigned long long)json->offset);
}

static cuzk_status read_term(rows *r, const zk_json_value *json, uint32_t n_inputs, uint32_t n_aux, cuzk_err *err) {
    const char *kind;
    uint64_t index;
    uint8_t bytes[32];
    zk_explicit_term term;
    if (!zk_json_is(json, ZK_JSON_ARRAY_BEGIN) || json->n != 3)
        return ZK_FAIL(err, CUZK_BAD_INPUT, "rows: term at byte %llu: expected [kind, index, coefficient]",
                       (unsigned long long)json->offset);
    ZK_TRY(zk_json_get_string(&kind, &json->elements[0], "rows: kind of a term", err));
    bool input = strcmp(kind, "in") == 0;
    if (!input && strcmp(kind, "aux") != 0)
        return ZK_FAIL(err, CUZK_BAD_INPUT,
                       "rows: term at byte %llu: kind: found \"%.16s\", expected \"in\" or \"aux\"",
                       (unsigned long long)json->offset, kind);
    uint32_t n = input ? n_inputs : n_aux;
    ZK_TRY(zk_json_get_u64(&index, &json->elements[1], MAX_VARS, "rows: index of a term", err));
    if (index >= n)
        return ZK_FAIL(err, CUZK_BAD_INPUT, "rows: term at byte %llu: %s %llu, expected an index below %u",
                       (unsigned long long)json->offset, kind, (unsigned long long)index, n);
    ZK_TRY(read_value(&term.coef, bytes, &json->elements[2], "rows: coefficient of a term", err));
    term.var = input ? ZK_VAR_INPUT | (uint32_t)index : (uint32_t)index;
    if (!zk_grow((void **)&r->terms, &r->cap_terms, r->n_terms + 1, sizeof *r->terms))
        return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "rows: out of memory");
    r->terms[r->n_terms++] = term;
    return CUZK_OK;
}

static cuzk_status read_rows(rows abc[3], const zk_json_value *json, uint32_t n_inputs, uint32_t n_aux, cuzk_err *err) {
    for (unsigned m = 0; m < 3; m++) {
        abc[m].n_rows = json->n;
        abc[m].row = zk_calloc(json->n + 1, sizeof *abc[m].row);
        if (!abc[m].row) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "rows: out of memory");
    }
    for (size_t i = 0; i < json->n; i++) {
        const zk_json_value *row = &json->elements[i];
        if (!zk_json_is(row, ZK_JSON_ARRAY_BEGIN) || row->n != 3)
            return ZK_FAIL(err, CUZK_BAD_INPUT, "rows: row %zu at byte %llu: expected [A, B, C]", i,
                           (unsigned long long)row->offset);
        for (unsigned m = 0; m < 3; m++) {
            const zk_json_value *terms = &row->elements[m];
            if (!zk_json_is(terms, ZK_JSON_ARRAY_BEGIN))
                return ZK_FAIL(err, CUZK_BAD_INPUT, "rows: row %zu at byte %llu: expected a list of terms", i,
                               (unsigned long long)terms->offset);
            for (size_t k = 0; k < terms->n; k++) ZK_TRY(read_term(&abc[m], &terms->elements[k], n_inputs, n_aux, err));
            abc[m].row[i + 1] = abc[m].n_terms;
        }
    }
    return CUZK_OK;
}

/* A count that the file may state. */
static cuzk_status check_stated(const zk_json_value *root, const char *name, size_t found, cuzk_err *err) {
    const zk_json_value *json = zk_json_member_of(root, name);
    uint64_t stated;
    if (!json) return CUZK_OK;
    ZK_TRY(zk_json_get_u64(&stated, json, UINT64_MAX, name, err));
    if (stated != found)
        return ZK_FAIL(err, CUZK_BAD_INPUT, "%s: stated %llu, found %zu", name, (unsigned long long)stated, found);
    return CUZK_OK;
}

static cuzk_status read_circuit(zk_r1cs_circuit *circuit, const zk_json_value *root, rows abc[3], cuzk_err *err) {
    const zk_json_value *json_rows, *aux, *witness, *inputs;
    ZK_TRY(zk_json_get_member(&json_rows, root, "rows", ZK_JSON_ARRAY_BEGIN, err));
    ZK_TRY(zk_json_get_member(&aux, root, "aux", ZK_JSON_ARRAY_BEGIN, err));
    ZK_TRY(zk_json_get_member(&witness, root, "witness", ZK_JSON_OBJECT_BEGIN, err));
    ZK_TRY(zk_json_get_member(&inputs, witness, "inputs", ZK_JSON_ARRAY_BEGIN, err));
    if (inputs->n == 0 || inputs->n > MAX_VARS || aux->n > MAX_VARS || json_rows->n > MAX_VARS)
        return ZK_FAIL(err, CUZK_BAD_INPUT,
                       "%zu inputs (the constant one included), %zu aux, %zu rows: expected 1 to %u "
                       "inputs, up to %u of the others",
                       inputs->n, aux->n, json_rows->n, MAX_VARS, MAX_VARS);
    ZK_TRY(check_stated(root, "inputs", inputs->n, err));
    ZK_TRY(check_stated(root, "constraints", json_rows->n, err));
    uint32_t n_inputs = (uint32_t)inputs->n, n_aux = (uint32_t)aux->n;

    circuit->n_publics = n_inputs - 1;
    circuit->n_hints = circuit->n_publics + n_aux;
    circuit->hints = zk_malloc(circuit->n_hints * 32);
    circuit->publics = zk_malloc(circuit->n_publics * 32);
    if (!circuit->hints || !circuit->publics) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "assignment: out of memory");
    zk_fr value;
    uint8_t one[32];
    ZK_TRY(read_value(&value, one, &inputs->elements[0], "witness: input 0", err));
    if (!zk_fr_is_one(&value)) return ZK_FAIL(err, CUZK_BAD_INPUT, "witness: input 0: expected the constant one");
    for (size_t i = 0; i < circuit->n_publics; i++) {
        ZK_TRY(read_value(&value, circuit->hints[i], &inputs->elements[i + 1], "witness: input", err));
        memcpy(circuit->publics[i], circuit->hints[i], 32);
    }
    for (size_t i = 0; i < n_aux; i++)
        ZK_TRY(read_value(&value, circuit->hints[circuit->n_publics + i], &aux->elements[i], "aux", err));

    ZK_TRY(read_rows(abc, json_rows, n_inputs, n_aux, err));
    zk_explicit_matrix matrices[3];
    for (unsigned m = 0; m < 3; m++) matrices[m] = (zk_explicit_matrix){abc[m].row, abc[m].terms};
    return zk_program_from_rows(&circuit->program, circuit->name, n_inputs, n_aux, (uint32_t)json_rows->n, matrices,
                                err);
}

static char *stem(const char *path) {
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *dot = strrchr(name, '.');
    char *copy = zk_strdup(name);
    if (copy && dot && dot > name) copy[dot - name] = 0;
    return copy;
}

cuzk_status zk_r1cs_json_read(zk_r1cs_circuit *circuit, const char *path, cuzk_err *err) {
    cuzk_status status = CUZK_OK;
    zk_json_doc *doc = NULL;
    rows abc[3] = {{0}};
    *circuit = (zk_r1cs_circuit){.name = stem(path)};
    if (!circuit->name) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "%s: out of memory", path);
    ZK_GOTO(zk_json_parse_file(&doc, path, ZK_R1CS_JSON_MAX_BYTES, err));
    status = read_circuit(circuit, zk_json_root(doc), abc, err);
    if (status != CUZK_OK) zk_err_prefix(err, "%s", path);
out:
    zk_json_doc_destroy(doc);
    for (unsigned m = 0; m < 3; m++) {
        free(abc[m].row);
        free(abc[m].terms);
    }
    if (status != CUZK_OK) zk_r1cs_circuit_clear(circuit);
    return status;
}

void zk_r1cs_circuit_clear(zk_r1cs_circuit *circuit) {
    zk_program_destroy(circuit->program);
    free(circuit->name);
    free(circuit->hints);
    free(circuit->publics);
    *circuit = (zk_r1cs_circuit){0};
}
