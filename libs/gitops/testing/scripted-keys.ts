import 'reflect-metadata';
import { BUCKETS, gitKeysRpc, type DeployKey, type GitHostEntry } from '@fairlead/contracts';
import { DesiredState, signDesiredState } from '@fairlead/desired-state';
import { FairleadError } from '@fairlead/errors';
import { RpcHandler, putKv, serveRpc, type RpcRequest, type RpcResult } from '@fairlead/messaging';
import type { SecuredNats } from '@fairlead/messaging/testing';
import { silentLogger } from '@fairlead/observability';
import type { TestAuthority, TestCertificate } from '@fairlead/testing';
import type { NatsConnection } from '@nats-io/transport-node';
import { Controller, Module, type DynamicModule } from '@nestjs/common';

type K = typeof gitKeysRpc;

/** What the keys service does with Git hosts, by hand: which host, which keys, and when a deploy key is there. */
export class KeysScript {
  readonly deployKeys = new Map<string, DeployKey & { readonly publicKey: string }>();
  readonly host: GitHostEntry = {
    id: crypto.randomUUID(),
    name: 'gitea',
    sshHost: 'git.example.com',
    sshPort: 2222,
    approvedKeys: [],
  };
  /** What becomes of a deploy key that is desired. */
  keyState: DeployKey['state'] = 'present';
  away = false;
  defaultBranch: string | null = 'main';
  /** Does somebody have to add deploy keys? */
  keysByHand = false;
  /** Made once: a certificate for each signature would be most of the work of a test. */
  readonly #signer: Promise<TestCertificate>;
  signatureLifeMs = 86_400_000;

  constructor(
    readonly authority: TestAuthority,
    readonly connection: NatsConnection,
  ) {
    this.#signer = authority.service('keys');
  }

  repository(): { defaultBranch: string | null; keysByHand: boolean } {
    return { defaultBranch: this.defaultBranch, keysByHand: this.keysByHand };
  }

  signer(): Promise<TestCertificate> {
    return this.#signer;
  }

  /** As after an administrator's decision. */
  async approve(...approvedKeys: string[]): Promise<void> {
    Object.assign(this.host, { approvedKeys });
    await putKv(this.connection, BUCKETS.gitHosts, `default.${this.host.id}`, this.host);
  }
}

/** Answers what gitops asks of keys. */
export async function serveScriptedKeys(
  nats: SecuredNats,
  authority: TestAuthority,
): Promise<{ script: KeysScript } & AsyncDisposable> {
  const connection = await nats.connect({ role: 'keys', credential: 'keys' });
  const script = new KeysScript(authority, connection);
  const serving = await serveRpc(ScriptModule.around(script), { connection, queue: 'keys', logger: silentLogger });
  return { script, [Symbol.asyncDispose]: () => serving[Symbol.asyncDispose]() };
}

@Controller()
class ScriptedKeys {
  constructor(private readonly script: KeysScript) {}

  @RpcHandler(gitKeysRpc.openRepository)
  async openRepository({ input }: RpcRequest<K['openRepository']>): RpcResult<K['openRepository']> {
    this.#fail();
    const { host } = this.script;
    if (input.host !== host.name) throw new FairleadError('NOT_FOUND', `there is no Git host named ${input.host}`);
    const sshUrl = `git@${host.sshHost}:${input.path}.git`;
    return { hostId: host.id, created: input.create, sshUrl, ...this.script.repository(), head: null };
  }

  @RpcHandler(gitKeysRpc.wantDeployKey)
  async wantDeployKey({ input }: RpcRequest<K['wantDeployKey']>): RpcResult<K['wantDeployKey']> {
    this.#fail();
    const { clusterId, repositoryId, number, publicKey } = input;
    const state = this.script.keyState;
    const key: DeployKey = {
      clusterId,
      repositoryId,
      number,
      fingerprint: 'SHA256:x',
      state,
      instructions: state === 'by-hand' ? `add ${publicKey} to the repository` : null,
      problem: null,
      seenAt: null,
      restored: 0,
    };
    this.script.deployKeys.set(`${clusterId} ${repositoryId} ${number}`, { ...key, publicKey });
    return key;
  }

  @RpcHandler(gitKeysRpc.dropDeployKey)
  async dropDeployKey({ input }: RpcRequest<K['dropDeployKey']>): RpcResult<K['dropDeployKey']> {
    this.#fail();
    const id = `${input.clusterId} ${input.repositoryId} ${input.number}`;
    const key = this.script.deployKeys.get(id);
    if (!key) throw new FairleadError('NOT_FOUND', 'there is no such deploy key');
    this.script.deployKeys.delete(id);
    return { ...key, state: 'removing' };
  }

  @RpcHandler(gitKeysRpc.signDesiredState)
  async signDesiredState({ input }: RpcRequest<K['signDesiredState']>): RpcResult<K['signDesiredState']> {
    this.#fail();
    const state = DesiredState.parse(JSON.parse(Buffer.from(input.document, 'base64').toString()));
    const signer = await this.script.signer();
    const chainPem = signer.chain.slice(0, -1);
    const signed = await signDesiredState(state, { keyPem: signer.privateKeyPem, chainPem });
    return {
      document: Buffer.from(signed.document).toString('base64'),
      signerChain: [...signed.signerChainPem],
      signature: Buffer.from(signed.signature).toString('base64'),
      notAfter: new Date(Date.now() + this.script.signatureLifeMs).toISOString(),
    };
  }

  #fail(): void {
    if (this.script.away) throw new FairleadError('UNAVAILABLE', 'as the test wants it');
  }
}

@Module({})
class ScriptModule {
  static around(script: KeysScript): DynamicModule {
    return {
      module: ScriptModule,
      controllers: [ScriptedKeys],
      providers: [{ provide: KeysScript, useValue: script }],
    };
  }
}
