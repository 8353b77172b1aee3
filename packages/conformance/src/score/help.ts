import { checks } from './checks.ts'

const calls = checks.reduce((sum, check) => sum + check.calls, 0)

/** Output of `--help`. */
export const help = `Asks a model gateway, or a provider, what the official SDKs ask (openai, @anthropic-ai/sdk, @google/genai), format by
format and feature by feature, and says what it could.

  npx @modelgate/conformance URL --token TOKEN --model MODEL

  npx @modelgate/conformance http://localhost:8787 --token mg-… --model gpt-5
  npx @modelgate/conformance https://api.openai.com/v1 --token sk-… --model gpt-5-mini --skip images
  npx @modelgate/conformance http://localhost:11434 --model llama3.2 --only chat,embeddings

URL is the base URL, with or without /v1. What is asked:

  --token TOKEN        the API key, sent as each SDK sends it; default: CONFORMANCE_TOKEN of the environment; never printed
  --model MODEL        the text model; for one format alone: --model chat=MODEL (messages=, gemini=, responses=), repeated
  --embedding-model, --image-model, --transcription-model, --speech-model, --rerank-model, --realtime-model,
  --completion-model   models for other work; default: looked for by name in the server's list (completion: as --model).
                       What has no model is not asked
  --only A,B           only these formats
  --skip A,B           all but these. Formats: chat, messages, gemini (generateContent), responses; completions, embeddings,
                       images, transcriptions, speech, rerank, models, tokens (counting them), realtime
  --header 'NAME: V'   sent with every call; may be repeated
  --concurrency N      checks at a time; default 4
  --timeout SECONDS    for each check; default 120
  --retries N          how often a check is asked again that met 429, 503 or 529; default 2

What is told:

  --list               the checks and what each proves; asks nobody
  --json FILE          the whole report as JSON; - for standard output, in place of the table
  --fail-under N       ends with 1 if less than N percent passed
  --help, --version

Each check passes, fails (and says why), is not served (the server says so: no such path, or a wish refused by its name where
models may lack it; not counted), or is not asked. The score is what passed of what passed and failed.

What it costs: ${checks.length} checks make at most ${calls} calls, of about 100 tokens in and 100 out each; all together some 20,000 tokens in
and 20,000 out of the text model, more where it thinks. Pictures (2), sound (5) and realtime (1) cost extra: leave them out with
--skip images,transcriptions,speech,realtime.

Ends with 0 if it ran, whatever it found; 1 below --fail-under; 2 if it could not run.`
