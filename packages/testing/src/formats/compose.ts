import type { Ids } from '../base/random.ts'
import { countTokens, tokenize } from '../base/tokens.ts'
import type { Prompt } from '../contract/prompt.ts'
import type { FinishWord, Script } from '../contract/script.ts'
import type { Answer, AnswerChoice, Block } from './answer.ts'
import type { Dialect } from './dialect.ts'
import type { InputUsage } from './prompt-cache.ts'
import type { Seals } from './seals.ts'

export interface ComposeContext {
  readonly prompt: Prompt
  readonly dialect: Dialect
  readonly input: InputUsage
  readonly ids: Ids
  readonly seals: Seals
  readonly now: () => number
  /** True to apply the request's stop sequences and token limit: to generated answers, not to a test's script. */
  readonly limited: boolean
}

/** Completes a script: ids, signatures, finish reason, usage, and the request's limits. */
export function compose(script: Script, composing: ComposeContext): Answer {
  const { prompt, ids, now } = composing
  const choices: AnswerChoice[] = []
  for (let index = 0; index < Math.max(1, prompt.choices); index++) choices.push(composeChoice(script, composing))
  const reasoning = sum(choices, (block) =>
    block.type === 'thinking' ? block.tokens : block.type === 'redacted' ? 16 : 0,
  )
  const output = sum(choices, blockTokens)
  const counted = { ...composing.input, output, reasoning }
  const usage = { ...counted, ...script.usage }
  // A script that sets only the reasoning tokens adds them to the output.
  const hidden = script.usage?.reasoning !== undefined && script.usage.output === undefined
  return {
    id: composing.dialect.answerId(ids),
    model: script.model ?? prompt.model,
    created: Math.floor(now() / 1000),
    choices,
    usage: hidden ? { ...usage, output: output - reasoning + usage.reasoning } : usage,
  }
}

const sum = (choices: readonly AnswerChoice[], count: (block: Block) => number): number =>
  choices.reduce((total, choice) => total + choice.blocks.reduce((inner, block) => inner + count(block), 0), 0)

function blockTokens(block: Block): number {
  if (block.type === 'redacted') return 16
  if (block.type === 'thinking') return block.tokens
  return block.type === 'tool-call' ? countTokens(block.name) + countTokens(block.input) : countTokens(block.text)
}

function composeChoice(script: Script, composing: ComposeContext): AnswerChoice {
  const blocks = blocksOf(script, composing)
  const calls = blocks.some((block) => block.type === 'tool-call')
  const refused = blocks.some((block) => block.type === 'refusal')
  const natural: FinishWord = calls ? 'tool-calls' : refused ? 'refusal' : 'stop'
  const choice = { blocks, finish: script.finish ?? natural, sequence: script.stopSequence }
  return composing.limited && script.finish === undefined ? limit(choice, composing.prompt) : choice
}

function blocksOf(script: Script, { prompt, dialect, ids, seals }: ComposeContext): Block[] {
  const blocks: Block[] = []
  const { sealStyle } = dialect
  const calls = script.toolCalls ?? []
  if (script.thinking !== undefined) {
    const thinking = typeof script.thinking === 'string' ? { text: script.thinking } : script.thinking
    const text = prompt.reasoning === 'omitted' ? '' : (thinking.text ?? '')
    const bound = dialect.sealedText(text, calls)
    if (thinking.redacted) {
      blocks.push({
        type: 'redacted',
        data: dialect.alwaysSeals ? seals.sign(sealStyle, bound) : seals.redact(sealStyle),
      })
    } else {
      if (thinking.signature !== undefined) seals.adopt(bound, thinking.signature)
      const signature = thinking.signature ?? seals.sign(sealStyle, bound)
      blocks.push({ type: 'thinking', text, signature, tokens: countTokens(thinking.text ?? '') })
    }
  } else if (dialect.alwaysSeals && prompt.reasoning !== 'off') {
    blocks.push({
      type: 'thinking',
      text: '',
      signature: seals.sign(sealStyle, dialect.sealedText('', calls)),
      tokens: 0,
    })
  }
  const text = script.text ?? ''
  if (text !== '') blocks.push({ type: 'text', text, citations: script.citations ?? [] })
  if (script.refusal !== undefined) blocks.push({ type: 'refusal', text: script.refusal })
  for (const call of calls) {
    const tool = prompt.tools.find((one) => one.name === call.name)
    blocks.push({
      type: 'tool-call',
      id: call.id ?? dialect.callId(ids, prompt),
      name: call.name,
      input: typeof call.input === 'string' ? call.input : JSON.stringify(call.input ?? {}),
      custom: tool?.custom ?? false,
      namespace: tool?.namespace,
      native: tool?.native,
    })
  }
  return blocks
}

/** Cuts a response at the first stop sequence and at the token limit, as a model would. */
function limit(choice: AnswerChoice, prompt: Prompt): AnswerChoice {
  const stopped = stopAt(choice, prompt.stop)
  let left = prompt.maxTokens ?? Number.POSITIVE_INFINITY
  const blocks: Block[] = []
  for (const block of stopped.blocks) {
    const cost = blockTokens(block)
    if (cost <= left) {
      left -= cost
      blocks.push(block)
      continue
    }
    // A tool call or a signed thought cannot be sent in part.
    if ((block.type === 'text' || block.type === 'refusal') && left > 0) {
      blocks.push({ ...block, text: tokenize(block.text).slice(0, left).join('') })
    }
    return { blocks, finish: 'length', sequence: undefined }
  }
  return stopped
}

function stopAt(choice: AnswerChoice, stop: readonly string[]): AnswerChoice {
  for (const [index, block] of choice.blocks.entries()) {
    if (block.type !== 'text') continue
    const hits = stop
      .map((sequence) => ({ sequence, at: sequence === '' ? -1 : block.text.indexOf(sequence) }))
      .filter((hit) => hit.at >= 0)
      .sort((one, other) => one.at - other.at)
    const hit = hits[0]
    if (!hit) continue
    const before = choice.blocks.slice(0, index)
    const text = block.text.slice(0, hit.at)
    return {
      blocks: text === '' ? before : [...before, { ...block, text }],
      finish: 'stop-sequence',
      sequence: hit.sequence,
    }
  }
  return choice
}
