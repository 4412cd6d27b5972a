import "./inbox.css";
import { useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import * as calls from "../api/calls";
import { messageOf } from "../api/errors";
import { keys } from "../api/keys";
import type { Question } from "../api/types";
import { useOpenQuestions } from "../app/queries";
import {
  Badge,
  Button,
  Dialog,
  EmptyState,
  ErrorState,
  Icon,
  Loading,
  Notice,
  Prose,
  notify,
  PageHead,
  RelativeTime,
  Segments,
  Skeleton,
  useNow,
  type Tone,
} from "../ui";
import { duration } from "../ui/format";
import { initialChoice, needsText } from "./answering";

export default function InboxPage() {
  const [tab, setTab] = useState<"open" | "history">("open");
  const open = useOpenQuestions();
  return (
    <div className="page inbox">
      <PageHead
        title="Inbox"
        actions={
          <Segments
            label="Which"
            value={tab}
            options={[
              {
                value: "open",
                label: (
                  <>
                    Open <span className="faint number">{open.data?.length ?? ""}</span>
                  </>
                ),
              },
              { value: "history", label: "History" },
            ]}
            onChange={setTab}
          />
        }
      >
        What agents ask their people. An answer wakes the one that waits for it.
      </PageHead>
      {tab === "open" ? <Open questions={open} /> : <History />}
    </div>
  );
}

function Open({ questions }: { questions: ReturnType<typeof useOpenQuestions> }) {
  if (questions.isError) return <ErrorState error={questions.error} retry={() => void questions.refetch()} />;
  if (!questions.data) return <Loading />;
  if (questions.data.length === 0) {
    return (
      <EmptyState icon="inbox" title="Nobody waits for you">
        <p>When an agent needs a decision it asks, and the question appears here at once, with its screen if it sent it.</p>
        <pre>roost ask my-agent "Deploy to production?" --approve</pre>
      </EmptyState>
    );
  }
  return (
    <ul className="questions">
      {questions.data.map((question) => (
        <li key={question.id}>
          <QuestionCard question={question} />
        </li>
      ))}
    </ul>
  );
}

export function QuestionCard({ question }: { question: Question }) {
  const client = useQueryClient();
  const [choice, setChoice] = useState<string | null>(initialChoice(question));
  const [text, setText] = useState("");
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<unknown>(null);
  const left = Math.max(0, (Date.parse(question.expires_at) - useNow(20)) / 1000);
  const isFree = question.choices.length === 0;

  const answer = async (picked: string | null) => {
    setChoice(picked);
    setBusy(true);
    setFailure(null);
    try {
      await calls.answerQuestion(question.id, {
        ...(picked !== null && { choice: picked }),
        ...(text.trim() && { text: text.trim() }),
      });
      notify(`Answered ${question.sandbox_name ?? question.sandbox}.`);
      await client.invalidateQueries({ queryKey: ["questions"] });
    } catch (error) {
      setFailure(error);
    }
    setBusy(false);
  };
  return (
    <article className="card question" aria-label={`Question of ${question.sandbox_name ?? question.sandbox}`}>
      <header>
        <Badge tone={question.kind === "approval" ? "amber" : "blue"}>
          {question.kind === "approval" ? "Approval" : "Question"}
        </Badge>
        <Link to="/app/sandboxes/$id" params={{ id: question.sandbox }} className="truncate">
          {question.sandbox_name ?? question.sandbox}
        </Link>
        <span className="grow" />
        <span className="faint small nowrap">
          <RelativeTime at={question.created_at} />
          <span className="wide-only"> · {duration(left, 1)} left</span>
        </span>
      </header>
      <div className="body">
        <p className="question-text">{question.text}</p>
        {question.has_screenshot && <Screenshot id={question.id} />}
        <form
          className="stack tight"
          onSubmit={(event) => {
            event.preventDefault();
            void answer(isFree ? null : choice);
          }}
        >
          <textarea
            className="textarea"
            rows={2}
            aria-label={isFree ? "Your answer" : "A note with your answer"}
            placeholder={isFree ? "Your answer" : "Add a note (optional)"}
            value={text}
            onChange={(event) => setText(event.target.value)}
          />
          {failure !== null && (
            <Notice tone="error">
              <Prose text={messageOf(failure)} />
            </Notice>
          )}
          <div className="row wrap">
            {question.choices.map((each, index) => (
              <Button
                key={each}
                look={each === "deny" ? "plain" : index === 0 ? "primary" : "plain"}
                busy={busy && choice === each}
                disabled={busy}
                onClick={() => void answer(each)}
              >
                {each}
              </Button>
            ))}
            {isFree && (
              <Button type="submit" look="primary" busy={busy} disabled={needsText(question, text)}>
                Send answer
              </Button>
            )}
          </div>
        </form>
      </div>
    </article>
  );
}

function Screenshot({ id }: { id: string }) {
  const { data, isError } = useQuery({ queryKey: keys.question(id), queryFn: ({ signal }) => calls.getQuestion(id, signal) });
  const [large, setLarge] = useState(false);
  if (isError) return null;
  if (!data?.screenshot) return <Skeleton height="12rem" />;
  return (
    <>
      <button type="button" className="shot" onClick={() => setLarge(true)} aria-label="Show the screenshot larger">
        <img src={data.screenshot} alt="The agent's screen when it asked" />
        <span className="zoom">
          <Icon name="expand" />
        </span>
      </button>
      {large && (
        <Dialog title="Screenshot" wide onClose={() => setLarge(false)}>
          <img className="shot-large" src={data.screenshot} alt="The agent's screen when it asked" />
        </Dialog>
      )}
    </>
  );
}

const TONES: Record<Question["state"], Tone> = { open: "blue", answered: "green", expired: "plain", withdrawn: "plain" };

function History() {
  const pages = useInfiniteQuery({
    queryKey: keys.questions({ history: true }),
    queryFn: ({ pageParam, signal }) => calls.listQuestions({ limit: 50, cursor: pageParam }, signal),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_cursor ?? undefined,
  });
  if (pages.isError) return <ErrorState error={pages.error} retry={() => void pages.refetch()} />;
  if (!pages.data) return <Loading />;
  const past = pages.data.pages.flatMap((page) => page.questions).filter((question) => question.state !== "open");
  if (past.length === 0)
    return (
      <EmptyState icon="clock" title="No questions yet">
        <p>Answered, expired and withdrawn questions stay here for 30 days.</p>
      </EmptyState>
    );
  return (
    <div className="card">
      <ul className="past">
        {past.map((question) => (
          <li key={question.id}>
            <Badge tone={TONES[question.state]}>{question.state}</Badge>
            <div className="grow">
              <p>{question.text}</p>
              {question.answer && (
                <p className="muted small">
                  {question.answer.choice && <strong>{question.answer.choice}</strong>} {question.answer.text}{" "}
                  <span className="faint">
                    — {question.answer.by}, <RelativeTime at={question.answer.at} />
                  </span>
                </p>
              )}
            </div>
            <span className="faint small nowrap">
              <Link to="/app/sandboxes/$id" params={{ id: question.sandbox }}>
                {question.sandbox_name ?? question.sandbox}
              </Link>{" "}
              · <RelativeTime at={question.created_at} />
            </span>
          </li>
        ))}
      </ul>
      {pages.hasNextPage && (
        <div className="body">
          <Button busy={pages.isFetchingNextPage} onClick={() => void pages.fetchNextPage()}>
            Older
          </Button>
        </div>
      )}
    </div>
  );
}
