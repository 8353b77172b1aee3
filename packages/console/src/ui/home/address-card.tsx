import { baseUrls } from '../address.ts'
import { CopyButton } from '../parts/copy-button.tsx'

export function AddressCard({ gateway }: { gateway: string }) {
  const urls = baseUrls(gateway)
  const families = [
    { name: 'OpenAI', clients: 'openai, Codex CLI, most tools', url: urls.openai },
    { name: 'Anthropic', clients: '@anthropic-ai/sdk, Claude Code', url: urls.anthropic },
    { name: 'Google', clients: '@google/genai, Gemini CLI', url: urls.gemini },
  ]
  return (
    <section class="card" aria-labelledby="address">
      <div class="address">
        <div>
          <h2 id="address">API address</h2>
          <code data-testid="address">{urls.openai}</code>
        </div>
        <div>
          <CopyButton look="primary" text={urls.openai} what="the API address" />
        </div>
      </div>
      <ul class="families">
        {families.map(({ name, clients, url }) => (
          <li key={name}>
            <div>
              <h3>{name}</h3>
              <p>{clients}</p>
              <code>{url}</code>
            </div>
            <div>
              <CopyButton look="quiet" icon text={url} what={`the base URL for ${name} clients`} />
            </div>
          </li>
        ))}
      </ul>
    </section>
  )
}
