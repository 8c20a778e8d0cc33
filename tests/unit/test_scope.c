/* Scopes: what they own is freed at the end of the block, the newest first, however the block is left. */
#include "support/test.h"

#include "base/memory.h"
#include "base/scope.h"
#include "base/status.h"
#include "support/call.h"

static char order[16];
static char letters[] = "abcde";

static void note(void *letter) {
    const size_t length = strlen(order);
    order[length] = *(char *)letter;
    order[length + 1] = 0;
}

static void note_of(void *of, void *letter) {
    assert_ptr_equal(of, order);
    note(letter);
}

static tamis_status owns(int letter) {
    return letter % 2 ? tamis_scope_own_of(note_of, order, &letters[letter]) : tamis_scope_own(note, &letters[letter]);
}

/* Makes two for the caller, and one of its own, of which it says so only if it may. */
static tamis_status make(bool fails) {
    TRY(owns(0));
    TRY(owns(1));
    TAMIS_SCOPE;
    TRY(owns(2));
    return fails ? tamis_fail(TAMIS_ERROR_INTERNAL, "it fails") : owns(3);
}

TEST(the_newest_goes_first) {
    for (int fails = 0; fails < 2; fails++) {
        order[0] = 0;
        {
            TAMIS_SCOPE;
            assert_int_equal(make(fails), fails ? TAMIS_ERROR_INTERNAL : TAMIS_OK);
            assert_string_equal(order, fails ? "c" : "dc");
        }
        assert_string_equal(order, fails ? "cba" : "dcba");
    }
}

TEST(some_go_before) {
    order[0] = 0;
    {
        TAMIS_SCOPE;
        for (int i = 0; i < 4; i++) works(owns(i));
        tamis_scope_drop(&letters[1]);
        tamis_scope_drop(&letters[4]); /* which it does not own */
        tamis_scope_drop(NULL);
        assert_string_equal(order, "b");
    }
    assert_string_equal(order, "bdca");
}

TEST(an_inner_scope_drops_what_an_outer_one_owns) {
    order[0] = 0;
    {
        TAMIS_SCOPE;
        works(owns(0));
        works(owns(1));
        {
            TAMIS_SCOPE;
            works(owns(2));
            tamis_scope_drop(&letters[1]); /* the newest of the outer scope */
            works(owns(3));
        }
        assert_string_equal(order, "bdc");
    }
    assert_string_equal(order, "bdca");
}

TEST(memory_comes_back) {
    const int64_t before = tamis_memory_live();
    for (int64_t fail = 0; fail < 5; fail++) {
        TAMIS_SCOPE;
        int32_t *zeros = NULL, *none = letters[0] ? (int32_t *)(void *)&order : NULL;
        tamis_memory_fail_at(fail);
        const tamis_status status = tamis_allocate_zeros(3, "numbers", zeros);
        tamis_memory_fail_at(0);
        assert_int_equal(status, fail == 1 || fail == 2 ? TAMIS_ERROR_MEMORY : TAMIS_OK);
        assert_true(status == TAMIS_OK ? zeros[2] == 0 : !zeros);
        works(tamis_allocate_array(0, "nothing", none));
        assert_null(none);
    }
    assert_int_equal(tamis_memory_live(), before);
}

TEST(there_must_be_one) {
    order[0] = 0;
    REFUSED(INTERNAL, "^there is no scope to own memory$", owns(0));
    assert_string_equal(order, "a");
}
