import { writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { version } from '../../package.json'
import type { Format } from '../base/recorded-traffic.ts'
import { formatNames, type ScoredFormat } from './check.ts'
import { checks, nameOf } from './checks.ts'
import { type ModelKind, modelKinds } from './models.ts'
import type { Result } from './report.ts'
import { ScoreError, type ScoreOptions, score } from './score.ts'
import { tableOf, wrap } from './table.ts'

/** Output of a command. Table lines are at most `columns` wide; progress is shown if `isTTY`. */
export interface Terminal {
  write(text: string): unknown
  readonly columns?: number
  readonly isTTY?: boolean
}

class Misuse extends Error {}

const text = { type: 'string' } as const
const options = {
  token: text,
  model: { type: 'string', multiple: true },
  'embedding-model': text,
  'image-model': text,
  'transcription-model': text,
  'speech-model': text,
  'rerank-model': text,
  'realtime-model': text,
  'completion-model': text,
  only: text,
  skip: text,
  header: { type: 'string', multiple: true },
  concurrency: text,
  timeout: text,
  retries: text,
  list: { type: 'boolean' },
  json: text,
  'fail-under': text,
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean', short: 'v' },
} as const

function read(argv: readonly string[]) {
  try {
    return parseArgs({ args: [...argv], options, allowPositionals: true })
  } catch (error) {
    throw new Misuse(error instanceof Error ? error.message : String(error))
  }
}

type Values = ReturnType<typeof read>['values']

/**
 * Runs this package's command. Resolves to the exit code: 0 after a complete run, 1 below `--fail-under`, 2 for misuse.
 */
export async function command(
  argv: readonly string[],
  out: Terminal = process.stdout,
  err: Terminal = process.stderr,
  env: Readonly<Record<string, string | undefined>> = process.env,
): Promise<number> {
  try {
    const { values, positionals } = read(argv)
    if (values.help === true) return writeLine(out, help)
    if (values.version === true) return writeLine(out, version)
    const only = listOf(values.only, '--only')
    const skip = listOf(values.skip, '--skip') ?? []
    if (values.list === true) return writeLine(out, listed(only, skip, out.columns))
    const [url, ...more] = positionals
    if (url === undefined) throw new Misuse('Missing base URL of the server, such as http://localhost:8787')
    if (more.length > 0) throw new Misuse(`Unexpected argument '${more[0]}': pass one URL`)
    const failUnder = numberOf(values['fail-under'], '--fail-under', 0, 100)
    const scoreOptions = optionsOf(url, values, env)
    const report = await score({ ...scoreOptions, ...(only ? { only } : {}), skip, onResult: progress(err) })
    if (err.isTTY === true) err.write('\r\u001b[K')
    const json = `${JSON.stringify(report, null, 2)}\n`
    if (values.json === '-') out.write(json)
    else out.write(`${tableOf(report, out.columns ?? 120)}\n`)
    if (values.json !== undefined && values.json !== '-') writeFileSync(values.json, json)
    return failUnder !== undefined && report.score < failUnder ? 1 : 0
  } catch (error) {
    if (!(error instanceof Misuse || error instanceof ScoreError)) throw error
    err.write(`${error.message}\n${error instanceof Misuse ? 'Run with --help for usage.\n' : ''}`)
    return 2
  }
}

function writeLine(out: Terminal, words: string): number {
  out.write(`${words}\n`)
  return 0
}

/** Shows progress in one line that each result overwrites; terminals only. */
function progress(err: Terminal): NonNullable<ScoreOptions['onResult']> {
  if (err.isTTY !== true) return () => {}
  let failed = 0
  return ({ name, verdict }: Result, done, all) => {
    if (verdict === 'failed') failed++
    err.write(`\r\u001b[K${done}/${all}  ${failed} failed  ${name}`.slice(0, err.columns ?? 80))
  }
}

function listOf(value: string | undefined, option: string): ScoredFormat[] | undefined {
  return value?.split(',').map((word) => {
    const format = formatNames.find((name) => name === word.trim())
    if (format === undefined)
      throw new Misuse(`Invalid value '${word}' of ${option}. Expected one of ${formatNames.join(', ')}`)
    return format
  })
}

function numberOf(value: string | undefined, option: string, least: number, most: number): number | undefined {
  if (value === undefined) return undefined
  const number = Number(value)
  if (value.trim() === '' || !(number >= least && number <= most))
    throw new Misuse(`Invalid value '${value}' of ${option}. Expected a number from ${least} to ${most}`)
  return number
}

const own: readonly Format[] = ['chat', 'messages', 'gemini', 'responses']

/** Parses `--model`: `MODEL` for all formats, or `chat=MODEL` for one. */
function modelsOf(names: readonly string[] = []): Pick<ScoreOptions, 'model' | 'modelOf'> {
  const modelOf: Partial<Record<Format, string>> = {}
  let model: string | undefined
  for (const name of names) {
    const format = own.find((one) => name.startsWith(`${one}=`))
    if (format === undefined) model = name
    else modelOf[format] = name.slice(format.length + 1)
  }
  return { modelOf, ...(model === undefined ? {} : { model }) }
}

function optionsOf(url: string, values: Values, env: Readonly<Record<string, string | undefined>>): ScoreOptions {
  const headers = Object.fromEntries(
    (values.header ?? []).map((header) => {
      const at = header.indexOf(':')
      if (at < 1) throw new Misuse(`Invalid value '${header}' of --header: no colon. Expected 'name: value'`)
      return [header.slice(0, at).trim(), header.slice(at + 1).trim()]
    }),
  )
  const models = Object.fromEntries(
    modelKinds.flatMap((kind: ModelKind) => {
      const name = kind === 'text' ? undefined : values[`${kind}-model`]
      return name === undefined ? [] : [[kind, name]]
    }),
  )
  const token = values.token ?? (env.CONFORMANCE_TOKEN || undefined)
  const seconds = numberOf(values.timeout, '--timeout', 1, 86_400)
  return {
    url,
    ...modelsOf(values.model),
    models,
    headers,
    concurrency: numberOf(values.concurrency, '--concurrency', 1, 64) ?? 4,
    retries: numberOf(values.retries, '--retries', 0, 10) ?? 2,
    ...(seconds === undefined ? {} : { timeoutMs: seconds * 1000 }),
    ...(token === undefined ? {} : { token }),
  }
}

/** Lists the selected checks with the fact that each proves. */
function listed(only: readonly ScoredFormat[] | undefined, skip: readonly ScoredFormat[], columns = 120): string {
  const chosen = checks.filter(({ format }) => (only?.includes(format) ?? true) && !skip.includes(format))
  const column = Math.max(...chosen.map((check) => nameOf(check).length), 1)
  return chosen.map((check) => `${nameOf(check).padEnd(column)}  ${wrap(check.proves, columns, column + 2)}`).join('\n')
}

const calls = checks.reduce((sum, check) => sum + check.calls, 0)

/** Output of `--help`. */
export const help = `Checks a model gateway or provider with the official SDKs (openai, @anthropic-ai/sdk, @google/genai), format by format
and feature by feature, and reports what works.

  npx @modelgate/conformance URL --token TOKEN --model MODEL

  npx @modelgate/conformance http://localhost:8787 --token mg-… --model gpt-5
  npx @modelgate/conformance https://api.openai.com/v1 --token sk-… --model gpt-5-mini --skip images
  npx @modelgate/conformance http://localhost:11434 --model llama3.2 --only chat,embeddings

URL is the base URL, with or without /v1.

Server and checks:

  --token TOKEN        API key, sent by each SDK in its own way; default: the environment variable CONFORMANCE_TOKEN;
                       never printed
  --model MODEL        text model; for a single format: --model chat=MODEL (messages=, gemini=, responses=); repeatable
  --embedding-model, --image-model, --transcription-model, --speech-model, --rerank-model, --realtime-model,
  --completion-model   models for other operations; default: chosen by name from the server's list (completion: as --model).
                       Checks without a model are not run
  --only A,B           only these formats
  --skip A,B           all except these. Formats: chat, messages, gemini (generateContent), responses, completions, embeddings,
                       images, transcriptions, speech, rerank, models, tokens (token counts), realtime
  --header 'NAME: V'   header sent with every call; repeatable
  --concurrency N      concurrent checks; default 4
  --timeout SECONDS    time limit of each check; default 120
  --retries N          retries of a check after status 429, 503 or 529; default 2

Output:

  --list               print the checks and the fact that each proves, without calling a server
  --json FILE          write the whole report as JSON; - for standard output instead of the table
  --fail-under N       exit with 1 if less than N percent passed
  --help, --version

A check passes, fails (with a reason), is not served (the server lacks the path, or rejects by name a field that models may
lack; not counted), or is skipped (no model for it). The score is the share of passed checks among passed and failed ones.

Cost of a run: ${checks.length} checks make at most ${calls} calls, of about 100 tokens in and 100 out each; in total some 20,000 tokens in
and 20,000 out of the text model, more if it thinks. Images (2), audio (5) and realtime (1) cost extra: exclude them with
--skip images,transcriptions,speech,realtime.

Exit codes: 0 after a complete run, 1 below --fail-under, 2 if the run was impossible.`
