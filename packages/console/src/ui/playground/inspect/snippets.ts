import { type AsCode, asCurl, asFetch, asPython, type Snippet } from './as-code.ts'
import { sdks } from './as-sdk.ts'

/** Returns the same call as a command and as code: running any of them sends the Playground's request. */
export const snippetsOf = (call: AsCode): readonly Snippet[] => {
  const { title, javascript, pythonTitle, python } = sdks[call.format.id]
  return [
    { id: 'curl', title: 'curl', language: 'sh', code: asCurl(call) },
    { id: 'sdk', title, language: 'js', code: javascript(call) },
    { id: 'python-sdk', title: pythonTitle, language: 'python', code: python(call) },
    { id: 'python', title: 'Python', language: 'python', code: asPython(call) },
    { id: 'fetch', title: 'fetch', language: 'js', code: asFetch(call) },
  ]
}
