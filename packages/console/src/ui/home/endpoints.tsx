import type { Info } from '../../info.ts'
import { groupsOf } from './endpoint-groups.ts'

export function Endpoints({ info }: { info: Info }) {
  return (
    <section class="section" aria-labelledby="endpoints">
      <header>
        <h2 id="endpoints">Endpoints</h2>
        <p>
          Every endpoint accepts the token in each header that the vendors’ clients use. The token determines which
          models are available.
        </p>
      </header>
      <div class="groups">
        {groupsOf(info.endpoints).map(({ title, endpoints }) => (
          <details class="card group" key={title}>
            <summary>
              <h3>{title}</h3>
              <span class="count">{endpoints.length === 1 ? '1 endpoint' : `${endpoints.length} endpoints`}</span>
            </summary>
            <ul>
              {endpoints.map(({ method, path }) => (
                <li class="endpoint" key={`${method} ${path}`}>
                  <span class="method">{method}</span>
                  <Path path={path} />
                </li>
              ))}
            </ul>
          </details>
        ))}
      </div>
    </section>
  )
}

/** Highlights the parameters of the path. */
const Path = ({ path }: { path: string }) => (
  <span class="path">
    {path.split(/(\{\w+\})/).map((part) => (part.startsWith('{') ? <span class="param">{part}</span> : part))}
  </span>
)
