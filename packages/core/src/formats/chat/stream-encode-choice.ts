import { isObject, type Json, type JsonObject, put, quoteText, stringifyExact } from '../../base/json/json.ts'
import type { ExchangeContext } from '../codec.ts'
import type { Citation, Delta, Extra, Finish, MediaPart, Nothing, Part, ReasoningPart, ToolCallPart } from '../ir.ts'
import { append } from '../shared/json-fields.ts'
import { loss, ownExtra } from '../shared/report.ts'
import { reportFinish } from '../shared/response-losses.ts'
import { joinText } from '../shared/stream-parts.ts'
import { fieldPointers } from './fields.ts'
import { type ChoiceContent, encodeFinish } from './finish.ts'
import { createDetailsSender, type DetailsSender, encodeCallSeal } from './reasoning.ts'
import {
  audioFrame,
  encodeCallFrame,
  encodeCitation,
  encodeImage,
  reportHints,
  reportLeftOut,
} from './response-encode.ts'
import { usesFunctions } from './tools.ts'

/** Encodes one choice of a stream, part by part. */
export interface ChoiceEncoder {
  start(part: number, value: Part): void
  delta(part: number, delta: Delta): void
  end(part: number): void
  /** Returns an error event if the response failed: an invented `stop` would hide it. */
  finish(finish: Finish, logprobs: Json | undefined, extra: Extra | undefined): string | undefined
}

interface OpenPart {
  value: Part
  /** The content so far, for parts that are repeated as a whole at their end. */
  text: string
  /** Index among the calls. */
  index: number
  /** Start of a text within the content. */
  offset: number
  /** The client gets nothing of this part. */
  muted: boolean
  citations: Citation[]
}

/** End of a choice without log probabilities. */
const plainEnd = ',"logprobs":null,"finish_reason":null}'

export function createChoiceEncoder(
  index: number,
  context: ExchangeContext,
  /** `choice`: as JSON. */
  send: (choice: string) => void,
): ChoiceEncoder {
  const functions = context.request.at?.tools !== fieldPointers.tools && usesFunctions(context.request)
  const open = new Map<number, OpenPart>()
  let details: DetailsSender | undefined
  const annotations: JsonObject[] = []
  const held: ChoiceContent = { calls: false, refusal: false, text: false }
  let introduced = false
  let calls = 0
  let images = 0
  let length = 0
  let thought = false
  let anything = false

  const head = joinText('{"index":', JSON.stringify(index), ',"delta":')
  /** `delta`: as JSON. */
  const piece = (delta: string, logprobs: Json | undefined): void => {
    const end = logprobs === undefined ? plainEnd : `,"logprobs":${stringifyExact(logprobs)},"finish_reason":null}`
    send(head + delta + end)
  }
  const chunk = (delta: JsonObject): void => piece(stringifyExact(delta), undefined)

  /** The first chunk names the role, and the call if the response begins with one. */
  function introduce(first?: JsonObject): void {
    if (introduced) {
      if (first !== undefined) chunk(first)
      return
    }
    introduced = true
    chunk(
      first === undefined
        ? { role: 'assistant', content: '', refusal: null }
        : { role: 'assistant', content: null, ...first, refusal: null },
    )
  }

  function write(part: OpenPart, text: string, logprobs: Json | undefined): void {
    if (text === '' && logprobs === undefined) return
    switch (part.value.type) {
      case 'text':
        held.text ||= text !== ''
        length += text.length
        piece(`{"content":${quoteText(text)}}`, logprobs)
        return
      case 'refusal':
        piece(`{"refusal":${quoteText(text)}}`, logprobs)
        return
      case 'reasoning':
        // A blank line separates reasoning parts, as in a whole response.
        piece(`{"reasoning_content":${JSON.stringify(part.text === '' && thought ? `\n\n${text}` : text)}}`, undefined)
        part.text += text
        thought = true
        return
      case 'tool-call':
        part.text += text
        writeInput(part, part.value, text)
        return
      default:
        part.text += text
    }
  }

  function writeInput(part: OpenPart, call: ToolCallPart, text: string): void {
    if (part.muted) return
    const input = quoteText(text)
    if (functions) piece(`{"function_call":{"arguments":${input}}}`, undefined)
    else {
      const inner = call.custom ? `"custom":{"input":${input}}` : `"function":{"arguments":${input}}`
      piece(`{"tool_calls":[{"index":${part.index},${inner}}]}`, undefined)
    }
  }

  function startCall(part: OpenPart, call: ToolCallPart): void {
    held.calls = true
    const frame = encodeCallFrame(call, '', context)
    if (functions) {
      part.muted = calls > 0
      if (part.muted)
        context.report.add(
          loss(
            call.at ?? `/choices/${index}`,
            `the call of '${call.name}' was left out: the field \`functions\` allows one call per response`,
          ),
        )
      else introduce({ function_call: frame.function ?? null })
    } else introduce({ tool_calls: [{ index: calls, ...frame }] })
    part.index = calls++
    if (call.input !== '') write(part, call.input, undefined)
  }

  function startMedia(part: OpenPart, media: MediaPart): void {
    const sound = media.kind === 'audio' && media.source.type === 'base64'
    if (!sound && media.kind !== 'image') {
      part.muted = true
      reportLeftOut(media, context)
      return
    }
    introduce()
    if (!sound) return
    chunk({ audio: audioFrame(media, context) })
    if (media.source.type === 'base64' && media.source.data !== '') chunk({ audio: { data: media.source.data } })
  }

  /** Writes text that arrives with the start of a part. */
  function startText(part: OpenPart, text: string): void {
    if (text === '') return
    introduce()
    write(part, text, undefined)
  }

  /** A citation refers to a whole text, whose length is known at its end. */
  function endText(part: OpenPart): void {
    for (const citation of part.citations) {
      const annotation = encodeCitation(citation, part.offset, length - part.offset, part.value.at ?? '', context)
      if (annotation !== undefined) annotations.push(annotation)
    }
  }

  function endReasoning(part: OpenPart, value: ReasoningPart): void {
    details ??= createDetailsSender(context, (list) => {
      introduce()
      chunk({ reasoning_details: list })
    })
    details.add({ ...value, text: part.text })
  }

  function endMedia(part: OpenPart, media: MediaPart): void {
    if (part.muted || media.kind !== 'image') return
    const source =
      media.source.type === 'base64' ? { ...media.source, data: media.source.data + part.text } : media.source
    chunk({ images: [encodeImage({ ...media, source }, images++, context)] })
  }

  return {
    start(number, value) {
      anything = true
      const part: OpenPart = { value, text: '', index: 0, offset: length, muted: false, citations: [] }
      open.set(number, part)
      if (value.extra !== undefined || value.cache !== undefined) reportHints(value, context)
      switch (value.type) {
        case 'text':
          introduce()
          startText(part, value.text)
          append(part.citations, value.citations ?? [])
          return
        case 'refusal':
          held.refusal = true
          introduce()
          startText(part, value.text)
          return
        case 'reasoning':
          startText(part, value.text)
          return
        case 'tool-call':
          startCall(part, value)
          return
        case 'media':
          startMedia(part, value)
          return
        case 'native':
          if (value.format === 'chat') {
            introduce()
            chunk({ content: [value.value] })
          } else reportLeftOut(value, context)
          part.muted = true
          return
        case 'tool-result':
          part.muted = true
          reportLeftOut(value, context)
          return
        default:
          value satisfies never
      }
    },
    delta(number, delta) {
      const part = open.get(number)
      if (part === undefined || part.muted) return
      const { value } = part
      switch (delta.type) {
        case 'text':
        case 'reasoning':
        case 'refusal':
        case 'input':
          introduce()
          write(part, delta.text, delta.logprobs)
          return
        case 'seal':
          if (value.type === 'reasoning') part.value = { ...value, seal: delta.seal }
          else if (value.type === 'tool-call' && !functions)
            chunk({
              tool_calls: [
                { index: part.index, function: { arguments: '' }, extra_content: encodeCallSeal(delta.seal) },
              ],
            })
          else
            context.report.add(
              loss(
                value.at ?? `/choices/${index}`,
                'chat completions cannot carry a seal on this part',
                'unsupported',
                'note',
              ),
            )
          return
        case 'citation':
          part.citations.push(delta.citation)
          return
        case 'media': {
          part.text += delta.data
          if (value.type !== 'media' || value.kind !== 'audio') return
          const own = ownExtra(delta.extra, 'chat', value.at ?? '', context.report)
          chunk({ audio: { ...own, ...(delta.data === '' ? {} : { data: delta.data }) } })
          return
        }
        default:
          delta satisfies never
      }
    },
    end(number) {
      const part = open.get(number)
      if (part === undefined) return
      open.delete(number)
      const { value } = part
      if (value.type === 'text') endText(part)
      else if (value.type === 'reasoning') endReasoning(part, value)
      else if (value.type === 'media') endMedia(part, value)
      // A call without arguments: clients parse the text, and '' is not JSON.
      else if (value.type === 'tool-call' && !value.custom && part.text === '') writeInput(part, value, '{}')
    },
    finish(finish, logprobs, extra) {
      const { reason, sequence, raw: _, explanation, extra: finishExtra, ...rest } = finish
      rest satisfies Nothing
      if (reason === 'error' || (reason === 'other' && !anything))
        return explanation ?? 'The upstream ended its response with an error.'
      const at = `/choices/${index}`
      const { message, ...own } = ownExtra(extra, 'chat', at, context.report) ?? {}
      ownExtra(finishExtra, 'chat', at, context.report)
      reportFinish(finish, {}, at, context)
      introduce()
      if (isObject(message)) chunk(message)
      details?.finish()
      if (annotations.length > 0) chunk({ annotations })
      if (explanation !== undefined && !held.refusal) {
        if (reason === 'refusal' || reason === 'content-filter') chunk({ refusal: explanation })
        else
          context.report.add(
            loss(
              `${at}/explanation`,
              `chat completions has no field for the explanation of the finish: ${explanation}`,
              'unsupported',
              'note',
            ),
          )
      }
      const last: JsonObject = {
        ...own,
        index,
        delta: {},
        logprobs: logprobs ?? null,
        finish_reason: encodeFinish(finish, held, functions),
      }
      put(last, 'stop_reason', sequence)
      send(stringifyExact(last))
      return undefined
    },
  }
}
