import { type AsCode, asCurl, asFetch, asPython, type Snippet } from './as-code.ts'
import { sdkOf } from './as-sdk.ts'

/** Returns the same call as a command and as code: running any of them sends the Playground's request. */
export const snippetsOf = (call: AsCode): readonly Snippet[] => {
  const sdk = sdkOf(call.format.id)
  return [
    { id: 'curl', title: 'curl', language: 'sh', code: asCurl(call) },
    ...(sdk === undefined
      ? []
      : [
          { id: 'sdk', title: sdk.title, language: 'js', code: sdk.javascript(call) },
          { id: 'python-sdk', title: sdk.pythonTitle, language: 'python', code: sdk.python(call) },
        ]),
    { id: 'python', title: 'Python', language: 'python', code: asPython(call) },
    { id: 'fetch', title: 'fetch', language: 'js', code: asFetch(call) },
  ]
}
