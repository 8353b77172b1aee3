import type { Format, UpstreamFormat } from '../base/names.ts'
import { chatCodec } from './chat/codec.ts'
import type { Codec, UpstreamCodec } from './codec.ts'
import { converseCodec } from './converse/index.ts'
import { geminiCodec } from './gemini/codec.ts'
import { messagesCodec } from './messages/index.ts'
import { responsesCodec } from './responses/codec.ts'

/**
 * Every format that clients speak. A new one adds itself here, and the laws in the tests hold for it too. Calls do not come
 * here: they load the codecs they need, one by one (see `wireCodecOf`).
 */
export const codecs: readonly Codec[] = [chatCodec, messagesCodec, geminiCodec, responsesCodec]

/** Every format that upstreams speak: a new one that no client speaks adds itself here. */
export const upstreamCodecs: readonly UpstreamCodec[] = [...codecs, converseCodec]

const byFormat = new Map<UpstreamFormat, UpstreamCodec>(upstreamCodecs.map((codec) => [codec.format, codec]))

/** Throws for a format without a codec, which configuration checks rule out. */
export function codecOf(format: Format): Codec
export function codecOf(format: UpstreamFormat): UpstreamCodec
export function codecOf(format: UpstreamFormat): UpstreamCodec {
  const codec = byFormat.get(format)
  if (codec === undefined) throw new TypeError(`There is no codec for the format '${format}'`)
  return codec
}
