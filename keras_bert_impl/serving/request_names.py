"""Names in requests and answers, and what a model may be refused for."""

# A text, and the second text of a pair, in requests.
TEXT = "text"
TEXT_PAIR = "text_pair"

SERVING_DEFAULT = "serving_default"
TOKEN_IDS = "token_ids"
TF_EXAMPLE = "tf_example"
IS_CUT = "is_cut"
CLASSIFY = "classify"
REGRESS = "regress"

# What an answer would hide: the first class, or no answer, of such logits.
NO_NUMBERS = (
  "The logits of the model are NaN or infinite: its weights are damaged or have"
  " diverged; train it again, from a lower learning rate"
)
