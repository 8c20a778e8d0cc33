"""transformers with attn_implementation="tamis" beside its "eager": outputs, gradients and generation of small models with random weights."""
import copy

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers", minversion="5.24")

import tamis.torch.transformers as ours  # noqa: E402

SIZES = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 96,
         "max_position_embeddings": 256, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": None}
MODELS = {
    "llama": lambda: transformers.LlamaConfig(**SIZES),
    "mistral": lambda: transformers.MistralConfig(**SIZES, sliding_window=7, head_dim=8),
    "qwen3": lambda: transformers.Qwen3Config(**SIZES, head_dim=8, use_sliding_window=True, sliding_window=5, max_window_layers=1),
    "gemma2": lambda: transformers.Gemma2Config(**SIZES, head_dim=8, sliding_window=6, attn_logit_softcapping=2.0, query_pre_attn_scalar=8),
    "gpt-oss": lambda: transformers.GptOssConfig(**SIZES, head_dim=8, sliding_window=6, num_local_experts=2, num_experts_per_tok=1),
}


def pair(name):
    """A model with eager attention, and its copy with ours."""
    ours.register()
    torch.manual_seed(4)
    config = MODELS[name]()
    config._attn_implementation = "eager"
    theirs = transformers.AutoModelForCausalLM.from_config(config, attn_implementation="eager").eval()
    for parameter in theirs.parameters():  # sinks and norms begin with equal numbers
        torch.nn.init.normal_(parameter, std=0.3)
    mine = copy.deepcopy(theirs)
    mine.set_attn_implementation("tamis")
    return theirs, mine


def tokens(batch, length, seed=1):
    return torch.randint(2, SIZES["vocab_size"], (batch, length), generator=torch.Generator().manual_seed(seed))


def close(a, b, relative=2e-5):
    assert float((a - b).norm()) <= relative * float(b.norm()) + 1e-7


def inputs_of(kind):
    ids = tokens(3, 33)
    if kind == "padded on the left" or kind == "padded on the right":
        kept = torch.ones_like(ids)
        for member, count in ((0, 5), (2, 20)):
            kept[member, slice(0, count) if kind.endswith("left") else slice(33 - count, 33)] = 0
        return {"input_ids": ids, "attention_mask": kept}, kept.bool()
    if kind == "packed":
        positions = torch.cat([torch.arange(n) for n in (9, 17, 7)])[None].expand(3, -1)
        return {"input_ids": ids, "position_ids": positions}, torch.ones_like(ids).bool()
    return {"input_ids": ids}, torch.ones_like(ids).bool()


@pytest.fixture
def calls(monkeypatch):
    """The patterns that attention gets."""
    seen = []
    attention = ours.attention
    monkeypatch.setattr(ours, "attention", lambda q, k, v, pattern, **more: seen.append(pattern) or attention(q, k, v, pattern, **more))
    return seen


@pytest.mark.parametrize("kind", ["whole", "padded on the left", "padded on the right", "packed"])
@pytest.mark.parametrize("name", MODELS)
def test_outputs_and_gradients(name, kind, calls):
    theirs, mine = pair(name)
    inputs, counted = inputs_of(kind)
    found = []
    for model in (theirs, mine):
        logits = model(**inputs, use_cache=False).logits[counted]
        weights = torch.randn(logits.shape, generator=torch.Generator().manual_seed(2))
        (logits * weights).sum().backward()
        found.append((logits.detach(), {n: p.grad for n, p in model.named_parameters() if p.grad is not None}))
    close(found[1][0], found[0][0])
    assert found[0][1].keys() == found[1][1].keys()
    for parameter, grad in found[0][1].items():
        close(found[1][1][parameter], grad, 2e-4)
    assert len(calls) == SIZES["num_hidden_layers"]


@pytest.mark.parametrize("kind", ["whole", "padded on the left"])
@pytest.mark.parametrize("cache", ["dynamic", "static"])
@pytest.mark.parametrize("name", MODELS)
def test_generation(name, cache, kind, calls):
    theirs, mine = pair(name)
    inputs, _ = inputs_of(kind)
    how = {"max_new_tokens": 12, "do_sample": False, "cache_implementation": None if cache == "dynamic" else cache, "disable_compile": True}
    with torch.no_grad():
        found = [model.generate(**inputs, **how, output_logits=True, return_dict_in_generate=True) for model in (theirs, mine)]
    assert torch.equal(found[0].sequences, found[1].sequences)
    close(torch.stack(found[1].logits), torch.stack(found[0].logits))
    steps = 12 if name == "gemma2" else 1  # with a cap all steps, else the prompt alone
    assert len(calls) == steps * SIZES["num_hidden_layers"]


def test_an_encoder_with_windows(calls):
    ours.register()
    config = transformers.ModernBertConfig(**{k: v for k, v in SIZES.items() if k != "num_key_value_heads"}, local_attention=8,
                                           global_attn_every_n_layers=2, cls_token_id=1, sep_token_id=2)
    theirs = transformers.AutoModel.from_config(config, attn_implementation="eager").eval()
    mine = copy.deepcopy(theirs)
    mine.set_attn_implementation("tamis")
    inputs, counted = inputs_of("padded on the right")
    with torch.no_grad():
        close(mine(**inputs).last_hidden_state[counted], theirs(**inputs).last_hidden_state[counted])
    assert len(calls) == SIZES["num_hidden_layers"]


def test_masks_that_come_again_are_the_same_pattern():
    _, mine = pair("mistral")
    made = []
    for _ in range(2):
        mask = transformers.masking_utils.create_sliding_window_causal_mask(
            config=mine.config, inputs_embeds=torch.zeros(2, 40, 32), attention_mask=None, cache=None)
        made.append(mask.patterns)
    assert len(made[0]) == 1 and made[0][0] is made[1][0]
    assert made[0][0].nnz == sum(min(i + 1, 7) for i in range(40))


def test_few_patterns_are_kept(monkeypatch):
    monkeypatch.setattr(ours, "_recent", [])
    for length in range(2, 80):
        ours._known(ours.Pattern.causal(length))
    assert [p.rows for p in ours._recent] == list(range(16, 80))
    monkeypatch.setattr(ours, "_ENTRIES", 79 * 80 // 2)
    ours._known(ours.Pattern.causal(80))
    assert [p.rows for p in ours._recent] == [79, 80]
    ours._known(ours.Pattern.causal(81))
    assert [p.rows for p in ours._recent] == [81]  # the latest stays, however large


def test_an_encoder_without_a_mask_sees_all(calls):
    q, k, v = torch.randn(3, 2, 4, 5, 8)
    module = torch.nn.Module()
    module.is_causal = False
    for more in ({"softcap": 1.5}, {"s_aux": torch.randn(4)}):
        out, _ = ours._attend(module, q, k, v, None, scaling=0.5, **more)
        scores = 0.5 * q @ k.mT
        if "softcap" in more:
            close(out, (torch.softmax(1.5 * torch.tanh(scores / 1.5), -1) @ v).transpose(1, 2))
        else:
            column = more["s_aux"][None, :, None, None].expand(2, 4, 5, 1)
            close(out, (torch.softmax(torch.cat([scores, column], -1), -1)[..., :-1] @ v).transpose(1, 2))


def test_masks_move_once():
    mask = ours.Mask([ours.Pattern.causal(3)] * 2, 2)
    assert mask.to("cpu") is mask and mask.shape == (2, 1, 3, 3)
    if torch.cuda.is_available():
        there = mask.to("cuda:0")
        assert there.patterns[0] is there.patterns[1] and mask.to("cuda:0") is there and there.patterns[0].cpu() == mask.patterns[0]


def test_what_is_not_supported_is_refused():
    x = torch.zeros(1, 2, 3, 4)
    with pytest.raises(ValueError, match="position_bias.*eager"):
        ours._attend(torch.nn.Module(), x, x, x, None, position_bias=torch.zeros(1, 2, 3, 3))
    with pytest.raises(ValueError, match=r"float32 and shape \(1, 1, 3, 3\): with softcap"):
        ours._attend(torch.nn.Module(), x, x, x, torch.zeros(1, 1, 3, 3), softcap=30.0)
