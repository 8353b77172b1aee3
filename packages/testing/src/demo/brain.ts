import { isObject, type Json, parseJson } from '../base/json.ts'
import { tokenize } from '../base/tokens.ts'
import type { Prompt, PromptMedia, PromptTool, PromptTurn } from '../contract/prompt.ts'
import type { Script, ScriptedCitation, ScriptedToolCall } from '../contract/script.ts'
import { type Directive, directiveNumber, directiveSettings, readDirectives } from './directives.ts'
import { answerPlainRequest } from './plain-requests.ts'
import { sampleOf } from './schema-sample.ts'

/**
 * Generates responses like a small model: repeatable, in a few plain sentences. It calls a tool whose name the user
 * mentions, reports tool results, describes the received media, follows plain requests, fills schemas, cites documents,
 * and follows the directives in the user's last text.
 */
export function demoBrain(prompt: Prompt): Script {
  const last = prompt.turns.findLast((turn) => turn.role === 'user')
  const { directives, rest } = readDirectives(last?.text ?? '')
  const base = directiveSettings(directives)
  const answer = answerOf(prompt, last, directives, rest)
  const thinking = thinkingOf(prompt, directives, rest)
  return { ...answer, ...thinking, ...base }
}

const find = (directives: readonly Directive[], name: string): Directive | undefined =>
  directives.find((directive) => directive.name === name)

function thinkingOf(prompt: Prompt, directives: readonly Directive[], rest: string): Script {
  if (find(directives, 'redacted')) return { thinking: { redacted: true } }
  if (prompt.reasoning === 'off' && !find(directives, 'think')) return {}
  return { thinking: `The user says ${quote(rest)}. I will answer briefly.` }
}

function answerOf(
  prompt: Prompt,
  last: PromptTurn | undefined,
  directives: readonly Directive[],
  rest: string,
): Script {
  if (find(directives, 'refuse')) return { refusal: "I'm sorry, but I can't help with that." }
  const say = find(directives, 'say')
  if (say) return { text: say.value }
  const words = find(directives, 'words')
  if (words) return { text: manyWords(directiveNumber(words.value, 100)) }
  const results = last?.toolResults ?? []
  const calls = results.length > 0 && directives.length === 0 ? [] : callsOf(prompt, directives, rest)
  if (calls.length > 0) return { toolCalls: calls }
  if (prompt.output !== 'text') return { text: JSON.stringify(structured(prompt.output, rest)) }
  if (results.length > 0) {
    const reported = results.map((result) => {
      const text = result.text || (result.media.length > 0 ? result.media.map(describe).join(', ') : 'nothing')
      return `${result.name ?? 'The tool'} ${result.isError ? 'failed' : 'answered'}: ${text}.`
    })
    return { text: reported.join(' ') }
  }
  const plain = answerPlainRequest(prompt, last, rest)
  if (plain !== undefined) return { text: plain }
  const media = last?.media ?? []
  const cited = citationsOf(media)
  if (cited.length > 0) return { text: cited.map((citation) => citation.text.trim()).join(' '), citations: cited }
  if (media.length > 0) return { text: `I received ${media.map(describe).join(' and ')}. ${echo(rest, prompt)}` }
  return { text: /^help\b/i.test(rest) ? help : echo(rest, prompt) }
}

const help =
  'Ask me anything and I will echo it. Mention a tool by its name and I will call it; send an image or a document and I will ' +
  'describe it. Write [[words:200]] for a long reply, [[think]] for reasoning, [[status:429 retry-after:2]] or ' +
  '[[reset after:5]] to simulate failures.'

function echo(rest: string, prompt: Prompt): string {
  const greeting = rest === '' ? 'You said nothing.' : `You said: ${quote(rest)}.`
  return `${greeting} I am ${prompt.model}, a small demo model that runs without any key. I can stream, call tools and think.`
}

function quote(text: string): string {
  const short = tokenize(text).slice(0, 60).join('').trim()
  return `“${short}${short.length < text.trim().length ? '…' : ''}”`
}

function manyWords(count: number): string {
  const vocabulary = 'the quick brown fox jumps over a lazy dog and then'.split(' ')
  const words: string[] = []
  for (let index = 0; index < Math.min(count, 1_000_000); index++)
    words.push(vocabulary[index % vocabulary.length] ?? '')
  return words.join(' ')
}

function describe(media: PromptMedia): string {
  const title = media.title === undefined ? '' : ` “${media.title}”`
  const size = media.bytes === undefined ? (media.url ? `at ${media.url}` : 'by reference') : `${media.bytes} bytes`
  const text = media.text === undefined ? size : `${media.text.length} characters`
  return `the ${media.kind}${title} (${media.mediaType === '' ? text : `${media.mediaType}, ${text}`})`
}

/** Cites one sentence of each document that has citations enabled. */
function citationsOf(media: readonly PromptMedia[]): ScriptedCitation[] {
  const documents = media.filter((one) => one.kind === 'document')
  return documents.flatMap((document, documentIndex) => {
    if (!document.citable || document.text === undefined || document.text === '') return []
    const text = /^[^.!?]*[.!?]?\s*/u.exec(document.text)?.[0] ?? document.text
    return [{ text, documentIndex, documentTitle: document.title ?? null, start: 0, end: text.length }]
  })
}

function structured(output: Exclude<Prompt['output'], 'text'>, rest: string): Json {
  return output === 'json' ? { answer: rest } : sampleOf(output.schema, hintOf(rest))
}

/** Returns the last capitalised word, or the first words: more realistic as an argument than `example`. */
function hintOf(text: string): string {
  const names = text.replace(/[^\p{L}\p{N}\s-]/gu, ' ').match(/(?<=\S\s+)\p{Lu}[\p{L}\p{N}-]+/gu)
  return names?.at(-1) ?? 'example'
}

function callsOf(prompt: Prompt, directives: readonly Directive[], rest: string): ScriptedToolCall[] {
  const choice = prompt.toolChoice
  if (choice === 'none' || prompt.tools.length === 0) return []
  const allowed = typeof choice === 'object' && 'allowed' in choice ? choice.allowed : undefined
  const named = typeof choice === 'object' && 'name' in choice ? choice.name : undefined
  const usable = prompt.tools.filter(
    (tool) => (allowed?.includes(tool.name) ?? true) && (named ?? tool.name) === tool.name,
  )
  const toolDirectives = directives.filter((directive) => directive.name === 'tool')
  const many = find(directives, 'tools')
  const bounded = (calls: ScriptedToolCall[]): ScriptedToolCall[] => (prompt.parallelTools ? calls : calls.slice(0, 1))
  if (toolDirectives.length > 0) {
    return bounded(
      toolDirectives.map((directive) => ({
        name: directive.value,
        input: parseJson(directive.options.input ?? '') ?? {},
      })),
    )
  }
  if (many && usable.length > 0) {
    const count = Math.min(directiveNumber(many.value, 2), 64)
    return bounded(
      Array.from({ length: count }, (_, index) => callOf(usable[index % usable.length] ?? usable[0], rest)).filter(
        (call) => call !== undefined,
      ),
    )
  }
  const mentioned = usable.filter((tool) => mentions(rest, tool.name))
  const forced =
    named !== undefined ||
    choice === 'required' ||
    (typeof choice === 'object' && 'mode' in choice && choice.mode === 'required')
  const chosen = mentioned.length > 0 ? mentioned : forced ? usable.slice(0, 1) : []
  return bounded(chosen.map((tool) => callOf(tool, rest)).filter((call) => call !== undefined))
}

function callOf(tool: PromptTool | undefined, rest: string): ScriptedToolCall | undefined {
  if (!tool) return undefined
  if (tool.custom) return { name: tool.name, input: rest }
  // A tool without a schema has no arguments.
  const sample = sampleOf(tool.schema, hintOf(rest))
  return { name: tool.name, input: isObject(sample) ? sample : {} }
}

/** Returns true if the text names the tool: `get_weather` matches its name, `get weather`, or its last word. */
function mentions(text: string, name: string): boolean {
  const lower = text.toLowerCase()
  const words = name
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== '')
  const tail = words.at(-1) ?? ''
  return (
    lower.includes(name.toLowerCase()) ||
    (words.length > 0 && lower.includes(words.join(' '))) ||
    (words.length > 1 && tail.length > 3 && lower.split(/[^\p{L}\p{N}]+/u).includes(tail))
  )
}
