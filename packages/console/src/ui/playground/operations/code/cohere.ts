import type { JsonObject } from '../../formats/format.ts'
import type { AsCode, Snippet } from '../../inspect/as-code.ts'
import { asJavaScript } from '../../inspect/as-javascript.ts'
import { asPythonValue, pythonImports } from '../../inspect/as-python.ts'
import { keyInJavaScript, keyInPython } from '../../inspect/as-sdk.ts'
import { plainSnippets } from './openai.ts'

/** Fields of Cohere's SDK for JavaScript, which writes them in camel case. */
const inCamelCase: Readonly<Record<string, string>> = { top_n: 'topN', max_tokens_per_doc: 'maxTokensPerDoc' }

const known = ['model', 'query', 'documents', 'top_n', 'max_tokens_per_doc']

/** Returns a rerank call in Cohere's v2 as a command and as code, with Cohere's SDKs. */
export function cohereSnippets(call: AsCode): readonly Snippet[] {
  const { base, request } = call
  const fields: JsonObject = {}
  const others: JsonObject = {}
  for (const [name, value] of Object.entries(request.body)) (known.includes(name) ? fields : others)[name] = value
  const hasOthers = Object.keys(others).length > 0
  const inJavaScript = Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [inCamelCase[name] ?? name, value]),
  )
  const javascript = `import { CohereClientV2 } from 'cohere-ai'

const client = new CohereClientV2({
  token: ${keyInJavaScript(call)},
  environment: ${asJavaScript(base)},
})

const response = await client.rerank(${asJavaScript(inJavaScript)})
console.log(JSON.stringify(response, null, 2))`
  const lines = Object.entries(fields).map(([name, value]) => `    ${name}=${asPythonValue(value, '    ')},\n`)
  const options = hasOthers
    ? `    request_options=${asPythonValue({ additional_body_parameters: others }, '    ')},\n`
    : ''
  const python = `import cohere

client = cohere.ClientV2(
    api_key=${keyInPython(call)},
    base_url=${asPythonValue(base)},
)

response = client.rerank(
${lines.join('')}${options})
print(response.json())`
  return plainSnippets(call, [
    // The SDK for JavaScript sends no other fields.
    ...(hasOthers ? [] : [{ id: 'sdk', title: 'cohere-ai', language: 'js', code: javascript }]),
    { id: 'python-sdk', title: 'cohere (Python)', language: 'python', code: pythonImports(python, 'os') + python },
  ])
}
