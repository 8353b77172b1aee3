import type { Limits } from '../config/config.ts'
import type { ReferencePolicy } from '../config/references.ts'
import type { ClientQuirks, WireCodec } from '../formats/codec.ts'
import type { RequestBody } from '../formats/request-body.ts'
import type { ResolvedTarget } from '../routing/router.ts'
import type { MediaFetching } from './allowed-media.ts'

/** What a lane is chosen by. */
export interface LaneChoice {
  /** The client's. */
  readonly codec: WireCodec
  readonly request: RequestBody
  readonly client?: ClientQuirks | undefined
  readonly target: ResolvedTarget
  readonly limits: Required<Limits>
  /** Losses found after the headers left may be told in a comment. */
  readonly tellLosses: boolean
  /** See CodecContext. */
  readonly kept?: { readonly previous?: string } | undefined
  /** Media named by URL may be fetched. */
  readonly media?: MediaFetching | undefined
  readonly references: ReferencePolicy
}

/** Whether a body may have a URL in it. One that is written in escapes is not found: it is passed on, as without a policy. */
export const mayNameMedia = ({ text }: RequestBody): boolean => /https?:/i.test(text)
