import type Anthropic from '@anthropic-ai/sdk'
import { citySchema } from '../base/city-schema.ts'
import { objectOf, textOf } from '../base/json.ts'
import { messagesUsage } from '../base/read-answer.ts'
import type { Piece, Said, Talker } from './conversation.ts'

type Block = Anthropic.TextBlockParam | Anthropic.ImageBlockParam | Anthropic.DocumentBlockParam

function blockOf(piece: Piece): Block {
  if ('text' in piece) return { type: 'text', text: piece.text }
  if ('image' in piece) return { type: 'image', source: { type: 'base64', media_type: 'image/png', data: piece.image } }
  if ('imageAt' in piece) return { type: 'image', source: { type: 'url', url: piece.imageAt } }
  if ('pdf' in piece)
    return {
      type: 'document',
      title: 'paper.pdf',
      source: { type: 'base64', media_type: 'application/pdf', data: piece.pdf },
    }
  throw new Error('messages have no audio')
}

export const talkAsMessages: Talker = (
  { anthropic },
  { model = 'demo', stream, tools, think, most, system, extra },
) => {
  const messages: Anthropic.MessageParam[] = []
  const settings = {
    model,
    max_tokens: most ?? 8192,
    ...(system === undefined ? {} : { system }),
    ...(tools === undefined ? {} : { tools: tools.map((name) => ({ name, input_schema: mutable() })) }),
    ...(think ? { thinking: { type: 'enabled' as const, budget_tokens: 4096, display: 'summarized' as const } } : {}),
    ...extra,
  }
  let calls: readonly Anthropic.ToolUseBlock[] = []
  const go = async (): Promise<Said> => {
    let pieces = 0
    const streamed = (): Promise<Anthropic.Message> =>
      anthropic.messages
        .stream({ ...settings, messages })
        .on('text', () => void pieces++)
        .finalMessage()
    const message = stream ? await streamed() : await anthropic.messages.create({ ...settings, messages })
    const { content } = message
    if (content.length > 0) messages.push({ role: 'assistant', content })
    calls = content.filter((block) => block.type === 'tool_use')
    const usage = messagesUsage(objectOf(message.usage))
    return {
      text: content.map((block) => (block.type === 'text' ? block.text : '')).join(''),
      refusal: textOf(objectOf(message.stop_details).explanation),
      reasoning: content.map((block) => (block.type === 'thinking' ? block.thinking : '')).join(''),
      tools: calls.map(({ name, input }) => ({ name, input })),
      end: message.stop_reason ?? '',
      model: textOf(message.model),
      pieces: stream ? pieces : 1,
      ...(usage === undefined ? {} : { usage }),
    }
  }
  return {
    ask(...pieces) {
      messages.push({ role: 'user', content: pieces.map(blockOf) })
      return go()
    },
    answer(results) {
      const content = calls.map(({ id, name }) => ({
        type: 'tool_result' as const,
        tool_use_id: id,
        content: (results[name] ?? []).map(blockOf),
      }))
      messages.push({ role: 'user', content })
      return go()
    },
  }
}

const mutable = (): Anthropic.Tool.InputSchema => ({ ...citySchema, required: [...citySchema.required] })
