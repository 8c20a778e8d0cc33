/* Finds the peers in the laboratory's table, and makes them. */
#include "bench/peers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/choices.h"
#include "cli/exit.h"
#include "cli/text.h"

#if !TAMIS_LAB
const tool_peer_kind *const tool_peer_kinds[] = {NULL};
const int tool_peer_kind_count = 0;
#endif

static const char *library_at(int i) { return i >= 0 && i < tool_peer_kind_count ? tool_peer_kinds[i]->library : NULL; }

const tool_choices tool_peer_names = {"a peer", .name_at = library_at};

const tool_peer_kind *tool_peer_find(const char *name) {
    for (int i = 0; i < tool_peer_kind_count; i++) {
        const tool_peer_kind *const kind = tool_peer_kinds[i];
        if (strcmp(kind->name, name) == 0 || strcmp(kind->library, name) == 0) return kind;
    }
    return NULL;
}

bool tool_peer_serves(const tool_peer_kind *kind, const tool_device *device, char *why, size_t bytes) {
    static const char *const places[] = {[TOOL_PEER_CPU] = "the CPU",
                                         [TOOL_PEER_CUDA] = "CUDA's devices",
                                         [TOOL_PEER_CPU | TOOL_PEER_CUDA] = "the CPU and CUDA's devices"};
    const int here = !device->gpu ? TOOL_PEER_CPU : device->addresses ? TOOL_PEER_CUDA : 0;
    if (kind->places & here) return true;
    snprintf(why, bytes, "it supports only %s, not %s", places[kind->places], device->description.name);
    return false;
}

/* Opens the library of that kind. Returns false if it is absent, with a warning the first time. */
static bool open_kind(const tool_peer_kind *kind) {
    static enum { UNTRIED, THERE, ABSENT } found[TOOL_PEER_KINDS_MOST];
    int number = 0;
    while (number < tool_peer_kind_count - 1 && tool_peer_kinds[number] != kind) number++;
    if (found[number] != UNTRIED) return found[number] == THERE;
    tool_text files = {0};
    if (kind->setting) setenv(kind->setting, kind->value, 0);
    void *library = tool_peer_open_library(kind->variable, kind->candidates, &files);
    const char *missing = library ? tool_peer_load(library, kind->symbols) : NULL;
    if (library && !missing && kind->begin) missing = kind->begin();
    found[number] = library && !missing ? THERE : ABSENT;
    if (!library) {
        tool_warning("%s not found: tried %s; %s can name the file", kind->library, tool_text_get(&files),
                     kind->variable);
    } else if (missing) {
        tool_warning("%s is too old: it lacks %s", kind->library, missing);
    }
    tool_text_free(&files);
    return found[number] == THERE;
}

tool_peer *tool_peer_make(const tool_peer_kind *kind, const tool_mirror *mirror, const tool_problem *host, int threads,
                          char *why, size_t bytes) {
    *why = 0;
    if (kind->symbols && !open_kind(kind)) return NULL;
    if (kind->symbols && kind->places == TOOL_PEER_CUDA && !tool_peer_enter(mirror->device)) return NULL;
    tool_peer *peer = tool_allocate(1, sizeof *peer);
    *peer = (tool_peer){.name = kind->name, .kind = kind, .threads = threads, .mirror = mirror, .host = host};
    peer->own = tool_allocate(1, kind->state_bytes);
    if (kind->make(peer)) return peer;
    snprintf(why, bytes, "%s", peer->why);
    tool_peer_free(peer);
    return NULL;
}

void tool_peer_free(tool_peer *peer) {
    if (!peer) return;
    peer->kind->release(peer);
    free(peer->own);
    free(peer);
}
