import type { Upstream } from '../upstream.ts'
import { dropNeedlessEscapes, maskSecrets, type Secrets } from './mask.ts'
import { redactorOf } from './redactor.ts'
import { isCredential, secretsIn } from './secrets.ts'

type Headers = Readonly<Record<string, string>>

/**
 * Removes credentials from copies of bodies, which an administrator reads. Unlike in a response to a client, content is searched too, and
 * nothing has to keep its bytes. Masked are:
 *
 * - the credentials of all configured upstreams, wherever they occur;
 * - the credentials that this call was sent with, by its client and to its upstreams (`authorize` creates some for a single call);
 * - values after names such as `authorization`, also those of unknown credentials.
 */
export class BodyMask {
  readonly #upstreams: readonly Upstream[]
  readonly #headers: Headers[] = []
  #secrets: readonly Secrets[] | undefined

  constructor(upstreams: readonly Upstream[]) {
    this.#upstreams = upstreams
  }

  /** Adds the headers of a request of this call. Those that carry no credential are ignored. */
  addHeaders(headers: Headers): void {
    this.#headers.push(headers)
    this.#secrets = undefined
  }

  mask(text: string): string {
    this.#secrets ??= this.#headers.map((headers) =>
      secretsIn(Object.entries(headers).filter(([name]) => isCredential(name))),
    )
    let masked = text
    for (const upstream of this.#upstreams) masked = redactorOf(upstream).maskCredentials(masked)
    for (const secrets of this.#secrets) {
      const plain = dropNeedlessEscapes(masked)
      const hidden = maskSecrets(plain, secrets)
      if (hidden !== plain) masked = hidden
    }
    return masked.replace(scheme, '$1***').replace(named, '$1***')
  }
}

/** `Bearer …` and `Basic …`, if what follows has a digit: "bearer authentication" is prose. */
const scheme = /(\b(?:bearer|basic) +)(?=[a-z._~+/=-]{0,200}\d)[\w.~+/=-]{8,}/gi

/** A name of a credential and its value, in headers, JSON, query strings and code. */
const named =
  /(\b(?:authorization|api[-_]?key|(?:access|auth|refresh|session)[-_]?token|client[-_]?secret|password|cookie)\b(?:\\?["'])?\s{0,4}[:=]\s{0,4}(?:\\?["'])?(?:(?:bearer|basic) +)?)(?!\*\*\*)[^\s"'\\,;&}]{8,}/gi
