import { chatCodec } from './chat/index.ts'
import type { Codec } from './codec.ts'
import { geminiCodec } from './gemini/index.ts'
import type { Format } from './ir.ts'
import { messagesCodec } from './messages/index.ts'
import { responsesCodec } from './responses/index.ts'

/** Every format the gateway speaks. A new one adds itself here, and the laws in the tests hold for it too. */
export const codecs: readonly Codec[] = [chatCodec, messagesCodec, geminiCodec, responsesCodec]

const byFormat = new Map<Format, Codec>(codecs.map((codec) => [codec.format, codec]))

/** Throws for a format without a codec, which configuration checks rule out. */
export function codecOf(format: Format): Codec {
  const codec = byFormat.get(format)
  if (codec === undefined) throw new TypeError(`There is no codec for the format '${format}'`)
  return codec
}
export const hasCodec = (format: Format): boolean => byFormat.has(format)
